"""Findings about servers, databases, plugins and witnesses: each remedy is done as it stands, after which nothing is found any
more."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shlex
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_operations.checks import database as doctor_database

from identity_bbs import bls12381
from identity_codec import ed25519
from identity_core.extension.declaration import Diagnosis
from identity_core.store import migrations
from identity_tlog.note import WITNESS, VerifierKey
from plugins.operations.tests.test_doctor_remedies import examined
from plugins.operations.tests.test_doctor_storage import scribbled, sql
from tests.fault.service_process import eventually
from tests.postgres_server import PostgresServer, postgres_server, programs
from tests.redis_server import redis_server
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server"]

KEY = VerifierKey("w.example", ed25519.generate(bytes(32)).public, WITNESS)
RELOAD = "SELECT pg_reload_conf()"
URL = "http://127.0.0.1:9/prefix"


@pytest.fixture
def cautious() -> Iterator[PostgresServer]:
    """A server of its own, whose settings are changed, and which may lose nothing."""
    if programs() is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("PostgreSQL's programs are not installed (Debian: postgresql)")
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        server = PostgresServer.create(Path(folder), fsync=True)
        yield server
        server.kill()


def typed_at_psql(server: PostgresServer, *arguments: str) -> None:
    where = {"PGHOST": "127.0.0.1", "PGPORT": str(server.port), "PGUSER": "identity", "PGDATABASE": "postgres"}
    command = [str(server.bin / "psql"), "-qAtX", *arguments]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | where, timeout=60)


def judged(server: PostgresServer) -> list[Diagnosis]:
    return list(doctor_database.judge(doctor_database.ask(server.url())))


def said_of(server: PostgresServer) -> list[Diagnosis]:
    return [one for one in judged(server) if one.state == "fail"]


def test_a_server_is_set_right(cautious: PostgresServer) -> None:
    """The server forgets, has no standby, and has one that is away."""
    for name, value in (("fsync", "off"), ("full_page_writes", "off"), ("synchronous_commit", "local")):
        assert said_of(cautious) == []
        typed_at_psql(cautious, "-c", f"ALTER SYSTEM SET {name} = {value}", "-c", RELOAD)
        # To reload is only asked for.
        eventually(lambda: len(said_of(cautious)) == 1, "the server forgets")
        program, *arguments = shlex.split(said_of(cautious)[0].remedy.removeprefix("as its superuser: "))
        assert program == "psql"
        typed_at_psql(cautious, *arguments)
        eventually(lambda: said_of(cautious) == [], "the server is set right")
    (found,) = judged(cautious)
    (setting,) = re.findall(r"name one in (\w+)", found.remedy)
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        typed_at_psql(cautious, "-c", f"ALTER SYSTEM SET {setting} = 'standby'", "-c", RELOAD)
        eventually(lambda: "no synchronous standby is connected" in judged(cautious)[0].says, "it is named")
        assert judged(cautious)[0].remedy.startswith("start the standby")
        standby = cautious.standby(Path(folder))
        try:
            eventually(lambda: judged(cautious) == [], "the standby follows")
        finally:
            standby.kill()


def test_a_server_that_is_away_is_started_or_another_is_named(postgres_server: PostgresServer) -> None:
    (found,) = examined("database", {"IDENTITY_DATABASE_URL": "postgresql://identity@127.0.0.1:1/postgres"})
    assert found.remedy == "start it, or correct database_url"
    right = examined("database", {"IDENTITY_DATABASE_URL": postgres_server.url()})
    assert not [one for one in right if "does not answer" in one.says]


def test_redis_is_started_or_another_is_named(here: Path) -> None:
    (found,) = examined("throttle", {"IDENTITY_THROTTLE_REDIS_URL": "redis://127.0.0.1:1/0"})
    assert found.remedy.startswith("start it, or correct throttle.redis_url")
    with redis_server() as redis:
        assert examined("throttle", {"IDENTITY_THROTTLE_REDIS_URL": redis.url}) == []


@pytest.fixture
def installed(identity: Commands, here: Path) -> Path:
    """The data directory of an installation with a key."""
    (here / "data").mkdir(mode=0o700)
    identity.ok("keys", "create", "--name", "ops", "--admin", "--data-dir", "data")
    return here / "data"


@pytest.mark.parametrize(
    ("check", "harm", "remedy"),
    [
        ("tables", lambda folder: sql(folder, "identity.sqlite", "DROP TABLE api_key_tags"), "put the database back"),
        ("storage", lambda folder: scribbled(folder, "identity.sqlite"), "put it and the other databases back"),
    ],
    ids=["tables", "broken"],
)
def test_broken_file_is_restored(
    identity: Commands, server: LocalServer, here: Path, check: str, harm: Any, remedy: str
) -> None:
    (here / "safe").mkdir()
    (here / "safe/key").write_bytes(bytes(range(32)))
    (here / "safe/key").chmod(0o600)
    identity.ok("backup", "create", "night", "--key-file", "safe/key", "--data-dir", server.data_dir)
    put_back = ("backup", "restore", "night", "--key-file", "safe/key", "--data-dir", "data", "--nothing-newer")
    identity.ok(*put_back)
    assert examined(check, {}) == []
    harm(here / "data")
    (found,) = examined(check, {})
    assert found.state == "fail"
    assert remedy in found.remedy.lower(), found
    (here / "data").rename(here / "broken")
    identity.ok(*put_back)
    assert examined(check, {}) == []


def test_remedy_step_can_be_done_by_hand(installed: Path) -> None:
    sql(installed, "identity.sqlite", "DROP INDEX ix_usage_day")
    (found,) = examined("tables", {})
    assert "make by hand what the steps in identity_core/store/migrations make" in found.remedy
    steps = Path(migrations.__file__).parent.glob("*.sqlite.sql")
    (statement,) = {
        line
        for step in steps
        for line in step.read_text().splitlines()
        if line.startswith("CREATE INDEX ix_usage_day ")
    }
    sql(installed, "identity.sqlite", statement)
    assert examined("tables", {}) == []


@pytest.mark.parametrize(
    ("added", "removed"),
    [
        ("ALTER TABLE usage ADD COLUMN files BIGINT", "ALTER TABLE usage DROP COLUMN files"),
        ("CREATE INDEX by_octets ON usage (octets)", "DROP INDEX by_octets"),
    ],
)
def test_added_row_is_removed(installed: Path, added: str, removed: str) -> None:
    sql(installed, "identity.sqlite", added)
    (found,) = examined("tables", {})
    assert (found.state, found.remedy) == ("warn", "remove it, unless it is yours")
    sql(installed, "identity.sqlite", removed)
    assert examined("tables", {}) == []


def test_a_key_store_that_is_another_is_put_back(identity: Commands, installed: Path) -> None:
    with closing(sqlite3.connect(installed / "keys.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    shutil.copyfile(installed / "keys.sqlite", installed.with_name("kept"))
    sql(installed, "keys.sqlite", "DELETE FROM keys_api_keys")
    (found,) = examined("API keys", {})
    assert found.state == "fail"
    assert found.remedy.startswith("put the right key store back")
    with closing(sqlite3.connect(installed / "keys.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    shutil.copyfile(installed.with_name("kept"), installed / "keys.sqlite")
    assert examined("API keys", {}) == []
    sql(installed, "keys.sqlite", "DELETE FROM keys_api_keys")
    (accept,) = re.findall(r"`identity (keys accept)`", found.remedy)
    identity.ok(*accept.split(), "--yes", "--data-dir", "data")
    assert [one.state for one in examined("API keys", {})] == ["warn"], "there is none, which is as it was accepted"


@pytest.mark.parametrize(
    ("variable", "wrong"),
    [
        ("IDENTITY_LEDGER_BACKEND", "nope"),
        ("IDENTITY_PROVER_BACKEND", "nope"),
        ("IDENTITY_CUSTODIAN_BACKEND", "nope"),
        ("IDENTITY_KEY_STORES", "nope"),
        ("IDENTITY_API_KEYS", "ci:a:b:c:d"),
        ("IDENTITY_PLUGINS_SEALED_PASPHRASE", "correct horse battery staple"),
    ],
)
def test_plugins_are_chosen_as_the_remedy_says(here: Path, variable: str, wrong: str) -> None:
    (found,) = [one for one in examined("plugins", {variable: wrong}) if variable in one.says]
    said, (how, what) = found.remedy, found.remedy.split(": ", 1) if ": " in found.remedy else (found.remedy, "")
    if how.startswith("Choose one"):
        candidates = what.rstrip(".").split(", ")
        others = [{variable: one} for one in candidates if one not in ("evm", "pkcs11")]
    elif how.startswith("Write for example"):
        others = [dict([what.split("=", 1)])]
    else:
        (name,) = re.findall(r"Did you mean (\w+)\?", said)
        others = [{name: wrong}]
    assert others
    for environment in others:
        assert [one for one in examined("plugins", environment) if one.state == "fail"] == []


def test_a_plugin_that_fails_is_disabled_or_goes(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(here))
    (here / "broken_one.py").write_text("raise RuntimeError")
    chosen = {"IDENTITY_PLUGINS_MODULES": "broken_one"}
    (found,) = (one for one in examined("plugins", chosen) if "broken_one" in one.says)
    assert found.remedy == "uninstall it, put it right, or name it in plugins.disabled"
    for other in (chosen | {"IDENTITY_PLUGINS_DISABLED": "broken_one"}, {}):
        assert not [one for one in examined("plugins", other) if "broken_one" in one.says]


def test_curves_are_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    states = bls12381.available()
    for usable, state in ((["py_ecc"], "warn"), ([], "fail")):
        with monkeypatch.context() as patched:
            patched.setattr(bls12381, "available", lambda names=usable: [one for one in states if one.name in names])
            (found,) = examined("curves", {})
        assert found.state == state
        (name,) = re.findall(r"^pip install (\w+)", found.remedy)
        # It is installed, as the remedy says.
        assert importlib.metadata.version(name)
    assert examined("curves", {}) == []


def test_room_is_made(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a disk on which nothing but one file lies."""
    usage = shutil.disk_usage(here)

    def free(folder: Path) -> Any:
        taken = sum(path.stat().st_size for path in folder.iterdir())
        return usage._replace(free=300 * 2**20 - taken)

    monkeypatch.setattr("identity_operations.commands.doctor.shutil.disk_usage", free)
    (here / "data").mkdir(mode=0o700)
    with (here / "data/film").open("wb") as file:
        file.truncate(100 * 2**20)
    (found,) = examined("disk", {})
    assert found.says.startswith("200 MiB are left")
    assert found.remedy.startswith("make room")
    (here / "data/film").unlink()
    assert examined("disk", {}) == []


@pytest.mark.parametrize(
    ("wrong", "right", "remedy"),
    [
        ("", f"witness W {KEY} {URL}\nquorum W\n", "write it as c2sp.org/tlog-policy has it"),
        (f"witness W {KEY} {URL}\n", f"witness W {KEY} {URL}\nquorum W\n", "write it as c2sp.org/tlog-policy has it"),
        (f"witness W {KEY} {URL}\nquorum W\n\0", f"witness W {KEY} {URL}\nquorum W\n", "write it as"),
        (f"witness W {KEY} ftp://w\nquorum W\n", f"witness W {KEY} {URL}\nquorum W\n", "write its submission prefix"),
        (f"witness W {KEY}\nquorum W\n", f"witness W {KEY} {URL}\nquorum W\n", "give the witnesses of the quorum"),
        (f"witness W {KEY}\nquorum none\n", f"witness W {KEY} {URL}\nquorum none\n", "add their submission prefixes"),
    ],
    ids=["empty", "half", "control", "scheme", "unmeetable", "silent"],
)
def test_a_policy_is_written_as_the_remedy_says(installed: Path, wrong: str, right: str, remedy: str) -> None:
    policy = installed.with_name("policy")
    policy.write_text(wrong)
    named = {"IDENTITY_LEDGER_WITNESSES": str(policy)}
    (found,) = examined("witnesses", named)
    assert remedy in found.remedy
    policy.write_text(right)
    assert examined("witnesses", named) == []
    policy.unlink()
    (found,) = examined("witnesses", named)
    assert found.remedy.endswith("or unset ledger.witnesses")
    assert examined("witnesses", {}) == []
