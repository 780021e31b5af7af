"""The doctor looks at databases: deeply, and without changing one byte or row, whatever it finds."""

from __future__ import annotations

import asyncio
import hashlib
import json
import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import httpx
import pytest
from identity_commands.local_server import LocalServer
from identity_transparency.opening import checkpoint_file_of
from identity_transparency.remembered import CheckpointFile

from identity_core import bootstrap
from identity_core.settings import load
from tests.postgres_server import PostgresServer, postgres_server, postgres_url
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server", "postgres_url"]

LOOKS = (("doctor", "--json"), ("plugins", "check", "--json"))


def sums(folder: Path) -> dict[str, tuple[str, int, int]]:
    """Every file below, with its content, mode and time."""
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mode,
            path.stat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


@pytest.fixture
def used(server: LocalServer, tmp_path: Path) -> Path:
    """A copy of an installation with entries, as a crash leaves it: with write-ahead logs."""
    made = httpx.post(
        f"{server.url}/api/v1/dids",
        json={"method": "ids", "keyType": "Ed25519"},
        headers={"X-API-Key": server.api_key},
        trust_env=False,
    )
    assert made.status_code == 201
    folder = tmp_path / "used"
    shutil.copytree(server.data_dir, folder)
    folder.chmod(0o700)
    assert (folder / "ledger.sqlite-wal").stat().st_size
    return folder


def looked(folder: Path, *more: str) -> dict[str, Any]:
    """Return the findings about ``storage``; nothing around it may change."""
    before = sums(folder.parent)
    found = None
    for look in LOOKS:
        where = {"IDENTITY_DATA_DIR": str(folder)}
        result = Commands(where)(*look, *more)
        assert result.exit_code in (0, 1, 2), result.output
        if look[0] == "doctor":
            found = next(one for one in json.loads(result.stdout)["findings"] if one["check"] == "storage")
        assert sums(folder.parent) == before
    assert found is not None
    assert found["remedy"] or found["state"] in ("ok", "not checked")
    return dict(found)


def without_index(folder: Path) -> None:
    for path in folder.glob("*-shm"):
        path.unlink()


def checkpointed(folder: Path) -> None:
    for path in folder.glob("*.sqlite"):
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


@pytest.mark.parametrize(
    "lies", [lambda folder: None, without_index, checkpointed], ids=["crashed", "copied", "closed"]
)
def test_an_installation_is_compared_as_it_lies(used: Path, lies: Any) -> None:
    lies(used)
    found = looked(used)
    assert found["state"] == "ok", found
    assert "ledger entries agree with the store" in found["says"]


def test_nothing_is_made(tmp_path: Path) -> None:
    assert looked(tmp_path / "absent")["state"] == "not checked"
    (tmp_path / "empty").mkdir()
    assert looked(tmp_path / "empty")["state"] == "not checked"
    assert sums(tmp_path) == {}


def lost(folder: Path, name: str) -> None:
    for path in folder.glob(f"{name}*"):
        path.unlink()


def scribbled(folder: Path, name: str) -> None:
    checkpointed(folder)
    with (folder / name).open("rb+") as file:
        file.seek(4096)
        file.write(b"\xff" * 20_000)


def sql(folder: Path, name: str, *statements: str) -> None:
    with closing(sqlite3.connect(folder / name)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


@pytest.mark.parametrize(
    ("harm", "state", "says", "remedy"),
    [
        (lambda f: lost(f, "ledger.sqlite"), "fail", "The ledger ends at entry 0", "accept-rollback"),
        (lambda f: lost(f, "identity.sqlite"), "fail", "The store is not there", "accept-rollback"),
        (lambda f: scribbled(f, "ledger.sqlite"), "fail", "ledger.sqlite is damaged", "one backup"),
        (lambda f: scribbled(f, "identity.sqlite"), "fail", "identity.sqlite is damaged", "one backup"),
        (lambda f: scribbled(f, "custodian.sqlite"), "fail", "custodian.sqlite is damaged", "one backup"),
        (lambda f: scribbled(f, "keys.sqlite"), "fail", "keys.sqlite is damaged", "one backup"),
        (
            lambda f: sql(f, "ledger.sqlite", "INSERT INTO ledger_migrations VALUES (99, '0099_x.sql', 'x')"),
            "fail",
            "newer version",
            "install the version",
        ),
        (
            lambda f: sql(f, "identity.sqlite", "INSERT INTO store_migrations VALUES (99, '0099_x.sql', 'x')"),
            "fail",
            "newer version",
            "install the version",
        ),
        (
            lambda f: sql(f, "identity.sqlite", "DELETE FROM store_migrations WHERE number = 13"),
            "warn",
            "of an older version",
            "next start",
        ),
        (
            lambda f: sql(f, "ledger.sqlite", "DELETE FROM ledger_migrations WHERE number = 3"),
            "warn",
            "of an older version",
            "next start",
        ),
    ],
    ids=[
        *("ledger_lost", "store_lost", "ledger_broken", "store_broken", "custodian_broken", "keys_broken"),
        *("ledger_newer", "store_newer", "store_older", "ledger_older"),
    ],
)
def test_database_faults_are_reported(used: Path, harm: Any, state: str, says: str, remedy: str) -> None:
    harm(used)
    result = Commands({"IDENTITY_DATA_DIR": str(used)})("doctor", "--json")
    findings = json.loads(result.stdout)["findings"]
    told = [one for one in findings if says in one["says"]]
    assert {one["state"] for one in told} == {state}, findings
    assert any(remedy in one["remedy"] for one in told), told
    looked(used)


OLDER = {
    "store": ("identity.sqlite", "DELETE FROM store_migrations WHERE number = 13"),
    "ledger": ("ledger.sqlite", "DELETE FROM ledger_migrations WHERE number = 3"),
    "custodian": ("custodian.sqlite", "DELETE FROM custodian_migrations WHERE number = 3"),
}
ROLLED_BACK = {
    "entries": ("ledger.sqlite", "DROP TRIGGER ledger_entries_stay", "DELETE FROM ledger_entries WHERE sequence >= {}"),
    "lines": ("identity.sqlite", "UPDATE audit_head SET sequence = {1} - 1"),
}


@pytest.fixture
def remembered(tmp_path: Path) -> Path:
    """An installation with entries whose service was stopped, and the checkpoint that it stored apart."""
    folder = tmp_path / "stopped"

    async def serve() -> None:
        async with bootstrap.open_installation(load(environment={}, overrides={"data_dir": folder})) as house:
            headers = {"X-API-Key": str(await house.first_key())}
            transport = httpx.ASGITransport(app=house.app)
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
                for _ in range(3):
                    assert (await client.post("/api/v1/dids", json={"method": "ids"})).status_code == 201

    asyncio.run(serve())
    return folder


def checkpoint_of(folder: Path) -> Path:
    return checkpoint_file_of(load(environment={}, overrides={"data_dir": folder}))


@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("rolled_back", [*ROLLED_BACK, "ledger file"])
def test_rollback_of_an_older_version_is_reported(remembered: Path, older: str, rolled_back: str) -> None:
    """The checkpoint is newer than what the databases have, and their upgrade has yet to run."""
    kept = CheckpointFile(checkpoint_of(remembered)).load()
    assert kept is not None
    assert (kept.checkpoint.size, kept.audit_lines > 2) == (3, True)
    sql(remembered, *OLDER[older])
    if rolled_back == "ledger file":
        lost(remembered, "ledger.sqlite")
    else:
        name, *statements = ROLLED_BACK[rolled_back]
        sql(remembered, name, *(one.format(kept.checkpoint.size, kept.audit_lines) for one in statements))
    found = looked(remembered)
    assert found["state"] == "fail", found
    assert "remembered" in found["says"] or "entry 0" in found["says"]
    assert "accept-rollback" in found["remedy"]


@pytest.mark.parametrize("older", OLDER)
def test_older_version_without_a_rollback_is_a_warning(remembered: Path, older: str) -> None:
    sql(remembered, *OLDER[older])
    assert looked(remembered)["state"] == "warn"


def test_a_master_key_that_is_another_is_told(used: Path) -> None:
    (used / "custodian.key").write_bytes(bytes(32))
    result = Commands({"IDENTITY_DATA_DIR": str(used)})("doctor")
    assert result.exit_code == 1
    assert "is not the master key of this database" in result.output


def test_a_master_key_that_others_may_read_is_told(used: Path) -> None:
    (used / "custodian.key").chmod(0o644)
    assert "others may read custodian.key" in Commands({"IDENTITY_DATA_DIR": str(used)}).ok("doctor")


def test_place_for_checkpoint_that_cannot_be_written_is_told(used: Path) -> None:
    given = Commands({"IDENTITY_DATA_DIR": str(used), "IDENTITY_LEDGER_CHECKPOINT_PATH": "/proc/nowhere/checkpoint"})
    assert "a rollback would not be detected" in given.ok("doctor")


# On a server


def dump(server: PostgresServer, url: str) -> str:
    """Every table and row."""
    command = [str(server.bin / "pg_dump"), "--inserts", url]
    text = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    # Each dump has a random word of its own.
    return "\n".join(line for line in text.splitlines() if not line.startswith(("\\restrict", "\\unrestrict")))


async def started(url: str, folder: Path) -> str | None:
    async with bootstrap.open_installation(
        load(environment={}, overrides={"database_url": url, "data_dir": folder})
    ) as house:
        return await house.first_key()


def test_an_empty_server_stays_empty_and_can_be_started(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    """A doctor that sealed it under a key in a temporary directory was the end of it."""
    before = dump(postgres_server, postgres_url)
    looked(tmp_path / "data", "--config", config(tmp_path, postgres_url))
    assert dump(postgres_server, postgres_url) == before
    assert "CREATE TABLE" not in before
    assert asyncio.run(started(postgres_url, tmp_path / "data"))


def test_a_server_in_use_is_compared_and_not_changed(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    assert asyncio.run(started(postgres_url, tmp_path / "data"))
    before = dump(postgres_server, postgres_url)
    found = looked(tmp_path / "data", "--config", config(tmp_path, postgres_url))
    assert found["state"] == "ok", found
    assert dump(postgres_server, postgres_url) == before


def config(folder: Path, url: str) -> str:
    path = folder.parent / f"{folder.name}.toml"
    path.write_text(f'database_url = "{url}"\n')
    return str(path)
