"""A command that reads, or changes what is there, makes no installation: not in an empty directory, nor in an empty database."""

from __future__ import annotations

import os
from pathlib import Path

import psycopg
import pytest

from tests.postgres_server import PostgresServer, postgres_server
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server"]

COMMANDS = {
    "ledger audit": 1,
    "ledger export copy": 1,
    "ledger checkpoint": 1,
    "ledger repair --all": 2,
    "ledger accept-rollback": 2,
    "audit verify": 2,
    "audit export": 2,
    "audit rekey": 2,
    "anchor retry": 2,
    "records export did:ids:x": 2,
    "fsck": 2,
    "upgrade check": 2,
    "upgrade apply --yes": 2,
    "keys list": 1,
    "keys show x": 1,
    "keys revoke x": 1,
    "keys accept": 1,
}


@pytest.mark.parametrize(("words", "status"), COMMANDS.items(), ids=str)
def test_an_empty_directory_stays_empty(identity: Commands, here: Path, words: str, status: int) -> None:
    (here / "empty").mkdir(mode=0o700)
    what, _, remedy = identity.refused(*words.split(), "--data-dir", "empty", status=status)
    assert "there is no installation in this data directory" in what
    assert "--data-dir" in remedy
    assert list((here / "empty").iterdir()) == []


def test_an_empty_database_stays_empty(identity: Commands, here: Path, postgres_server: PostgresServer) -> None:
    url = postgres_server.new_database()
    for words, status in COMMANDS.items():
        what, where, _ = identity.refused(*words.split(), "--data-dir", "empty", "--database-url", url, status=status)
        assert "there is no installation in this database" in what
        assert "identity@" not in where
    with psycopg.connect(url) as connection:
        tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
        assert connection.execute(tables).fetchone() == (0,)
    assert not (here / "empty").exists()


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
