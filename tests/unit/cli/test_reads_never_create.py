"""A command that reads, or changes what is there, makes no installation: not in an empty directory, nor in an empty database."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import click
import psycopg
import pytest

from identity_core.cli import main
from tests.postgres_server import PostgresServer, postgres_server
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server"]

COMMANDS = (
    "ledger audit",
    "ledger export copy",
    "ledger checkpoint",
    "ledger repair --all",
    "ledger accept-rollback",
    "audit verify",
    "audit export",
    "audit rekey",
    "anchor backfill",
    "anchor checkpoint",
    "anchor retry",
    "anchor status",
    "anchor worker",
    "backup create copy --key-file key",
    "did log publish did:ids:x key",
    "extensions remove wallets",
    "proof import key",
    "records erase did:ids:x --yes",
    "records export did:ids:x",
    "fsck",
    "upgrade check",
    "upgrade apply --yes",
    "keys list",
    "keys show x",
    "keys revoke x",
    "keys rotate x",
    "keys rotate log",
    "keys update x --name y",
    "keys accept",
)
# Those that read the databases before anything else, on files and on a server.
READS = (
    *("ledger audit", "ledger export copy", "ledger checkpoint", "ledger repair --all", "ledger accept-rollback"),
    *("audit verify", "audit export", "audit rekey", "anchor retry", "records export did:ids:x", "fsck"),
    *("upgrade check", "upgrade apply --yes", "keys list", "keys show x", "keys revoke x", "keys accept"),
)
# Commands with --data-dir that also work without an installation: they create one, need only its settings, or read
# another source. The exit code of `doctor` has its own test below.
WITHOUT = {
    "backup restore",
    "backup verify",
    "custodian pkcs11 keys",
    "doctor",
    "extensions list",
    "keys create",
    "ledger evm status",
    "proof verify",
    "serve",
    "support-bundle",
}


def leaves(command: click.Command, context: click.Context, words: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each command below ``command`` with its words."""
    if not isinstance(command, click.Group):
        yield words, command
        return
    for name in command.list_commands(context):
        below = command.get_command(context, name)
        assert below is not None
        yield from leaves(below, click.Context(below, parent=context, info_name=name), f"{words} {name}".strip())


def test_each_command_on_a_data_directory_is_listed() -> None:
    """A new command must be in one of the two lists above."""
    found = {
        words
        for words, command in leaves(main, click.Context(main, info_name="identity"))
        if any(one.name == "data_dir" for one in command.params)
    }
    listed = {words for words in found for line in COMMANDS if f"{line} ".startswith(f"{words} ")}
    assert listed | WITHOUT == found
    assert listed & WITHOUT == set()


@pytest.mark.parametrize("words", COMMANDS, ids=str)
def test_a_missing_installation_ends_with_2(identity: Commands, here: Path, words: str) -> None:
    (here / "key").write_bytes(b"k" * 32)
    (here / "key").chmod(0o600)
    what, where, remedy = identity.refused(*words.split(), "--data-dir", "absent", status=2)
    assert what == "error: there is no such data directory"
    assert where == f"  at: {here / 'absent'}"
    assert "--data-dir" in remedy
    assert not (here / "absent").exists()


@pytest.mark.parametrize("place", ["absent", "empty", "file"])
def test_doctor_without_an_installation_ends_with_2(identity: Commands, here: Path, place: str) -> None:
    """A cron job in the wrong directory must notice it."""
    (here / "empty").mkdir(mode=0o700)
    (here / "file").write_text("")
    found = identity("doctor", "--data-dir", place, "--json")
    assert found.exit_code == 2
    (installation,) = [one for one in json.loads(found.stdout)["findings"] if one["check"] == "installation"]
    assert (installation["state"], json.loads(found.stdout)["healthy"]) == ("fail", False)
    error = json.loads(found.stderr)["error"]
    assert (error["at"], error["exitCode"]) == (str(here / place), 2)
    assert "--data-dir" in error["do"]


@pytest.mark.parametrize("words", COMMANDS, ids=str)
def test_an_empty_directory_stays_empty(identity: Commands, here: Path, words: str) -> None:
    (here / "empty").mkdir(mode=0o700)
    (here / "key").write_bytes(b"k" * 32)
    (here / "key").chmod(0o600)
    what, _, remedy = identity.refused(*words.split(), "--data-dir", "empty", status=2)
    assert "there is no installation in this data directory" in what
    assert "--data-dir" in remedy
    assert list((here / "empty").iterdir()) == []


def test_an_empty_database_stays_empty(identity: Commands, here: Path, postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database()
    for words in READS:
        what, where, _ = identity.refused(*words.split(), "--data-dir", "empty", "--database-url", url, status=2)
        assert "there is no installation in this database" in what
        assert "identity@" not in where
    with psycopg.connect(url) as connection:
        tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        assert connection.execute(tables).fetchone() == (0,)
    assert not (here / "empty").exists()


@pytest.mark.parametrize("words", sorted({*READS} - {"upgrade apply --yes"}))
def test_an_older_installation_is_not_brought_up(identity: Commands, here: Path, words: str) -> None:
    """The version that made it could not read it after. Only a start and ``upgrade apply`` bring it up."""
    identity.ok("keys", "create", "--name", "a", "--admin", "--data-dir", "older")
    with closing(sqlite3.connect(here / "older" / "identity.sqlite")) as store:
        store.execute("DELETE FROM store_migrations WHERE number = (SELECT max(number) FROM store_migrations)")
        store.commit()
        before = store.execute("SELECT count(*) FROM store_migrations").fetchone()
        result = identity(*words.split(), "--data-dir", "older")
        assert store.execute("SELECT count(*) FROM store_migrations").fetchone() == before
    assert "of an older version" in result.output or "of an earlier version" in result.output
    if words != "upgrade check":
        assert result.exit_code != 0
        assert "identity upgrade apply" in result.output


def test_a_remedy_is_to_begin_one(identity: Commands, here: Path) -> None:
    identity.ok("keys", "create", "--name", "a", "--admin", "--data-dir", "begun")
    assert "a" in identity.ok("keys", "list", "--data-dir", "begun")
    identity.ok("ledger", "audit", "--data-dir", "begun")


@pytest.mark.parametrize(
    "words", ["ledger audit", "ledger checkpoint", "ledger repair --all", "audit verify", "keys list"]
)
def test_a_read_only_directory_is_named_with_a_remedy(
    identity: Commands, here: Path, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A command that reads through the service's own databases writes to them too. On a read-only disk it says where it can run."""
    identity.ok("keys", "create", "--name", "first", "--admin", "--data-dir", "data")
    identity.ok("ledger", "audit", "--data-dir", "data")
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    what, where, remedy = identity.refused(*words.split(), "--data-dir", "data")
    assert "needs a writable data directory" in what
    assert where.endswith("data")
    assert "`identity fsck`" in remedy


@pytest.mark.parametrize("name", ["custodian.key", "identity.sqlite", "custodian.sqlite"])
@pytest.mark.parametrize("mode", [0o602, 0o666])
def test_a_file_that_other_users_can_write_is_refused(identity: Commands, here: Path, name: str, mode: int) -> None:
    """A user who can write the key or the database in it decides what the service signs."""
    identity.ok("keys", "create", "--name", "first", "--admin", "--data-dir", "data")
    (here / "data" / name).chmod(mode)
    what, where, remedy = identity.refused("keys", "list", "--data-dir", "data", status=2)
    assert f"other users can write it (mode {mode:04o})" in what
    assert where.endswith(name)
    assert "chmod go-w" in remedy


def test_a_read_only_database_is_named(identity: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    identity.ok("keys", "create", "--name", "first", "--admin", "--data-dir", "data")
    access = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: not str(path).endswith("identity.sqlite") and access(path, mode)
    )
    what, where, _ = identity.refused("keys", "list", "--data-dir", "data")
    assert "needs a writable data directory" in what
    assert where.endswith("identity.sqlite")
