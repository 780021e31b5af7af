"""``identity upgrade`` of an installation on PostgreSQL: the backup is a database into which it was put back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest
from identity_operations.checks.tables import compare

from identity_core.database import look_at, migrations
from identity_core.database.read_only import Look
from identity_core.store import Store
from identity_core.store import migrations as steps_of_store
from tests import servers
from tests.fault import service_process
from tests.postgres_server import PostgresServer, postgres_server
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server"]

LAST = max(int(path.name[:4]) for path in Path(steps_of_store.__file__).parent.glob("*.sql"))
OLDEST = 13
TOMORROW = "CREATE TABLE of_tomorrow (number INTEGER);\n"
SEALED = {"IDENTITY_PLUGINS_SEALED_PASSPHRASE": "one for all", **servers.CHEAP_PASSPHRASE}


def change(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)  # type: ignore[call-overload]


def last_step(url: str) -> int:
    with psycopg.connect(url) as connection:
        row = connection.execute("SELECT max(number) FROM store_migrations").fetchone()
    assert row is not None
    return int(row[0])


def audited(url: str) -> list[dict[str, Any]]:
    with psycopg.connect(url) as connection:
        lines = connection.execute("SELECT line FROM audit_lines ORDER BY sequence").fetchall()
    found = [json.loads(bytes(line)) for (line,) in lines]
    return [line for line in found if line["operation"] == "upgradeInstallation"]


def differences(url: str) -> list[str]:
    look: Look = look_at(url, Path())
    try:
        return list(compare(look))
    finally:
        look.end()


@pytest.fixture(scope="module")
def older(postgres_server: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The database of an installation with three DIDs."""
    url = postgres_server.new_database()
    environment = {"IDENTITY_DATABASE_URL": url, **SEALED}
    with service_process.service(tmp_path_factory.mktemp("served") / "data", environment=environment) as running:
        for _ in range(3):
            assert running.stranger.create({"method": "ids"}).status == 201
        running.process.terminate()
        running.process.wait(60)
    return url.rpartition("/")[2]


@pytest.fixture
def newer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The version after this one, which has one step more."""
    every, step = migrations._steps, migrations.Step(LAST + 1, f"{LAST + 1:04}_of_tomorrow.sql", TOMORROW)

    def steps(package: str, dialect: str) -> Any:
        found = every(package, dialect)
        return [*found, step] if package == steps_of_store.__name__ else found

    monkeypatch.setattr(migrations, "_steps", steps)


@pytest.fixture
def database(postgres_server: PostgresServer, older: str) -> Callable[[], str]:
    """Makes a copy of the older installation, as a dump that is put back is one."""
    return lambda: postgres_server.new_database(older)


@pytest.fixture
def on_server(here: Path, newer: None) -> Commands:
    return Commands(SEALED)


def test_the_steps_are_tried_on_the_backup_first(on_server: Commands, database: Callable[[], str]) -> None:
    live, copy = database(), database()
    where = ("--database-url", live)
    pending = on_server.json("upgrade", "check", *where)["pending"]
    assert [one.split(":")[0] for one in pending] == ["store_migrations"]
    made = on_server.json("upgrade", "apply", "--backup-url", copy, *where)
    assert made["applied"] == pending
    assert (last_step(live), last_step(copy)) == (LAST + 1, LAST + 1)
    (line,) = audited(live)
    assert line["details"] == {"steps": pending, "backupOf": made["backupOf"]}
    assert audited(copy) == [], "what was done to the copy is not an upgrade of the installation"
    assert "nothing was to be done" in on_server.ok("upgrade", "apply", "--backup-url", copy, *where)


def test_a_backup_that_is_none_of_this_installation_is_refused(
    on_server: Commands, database: Callable[[], str], postgres_server: PostgresServer
) -> None:
    """The installation itself by another address, an empty database, none at all, one of another history, one that reaches further, one
    that lacks a day, one with a line that is not a line, and one in which the step does not run."""
    live = database()
    # What the copies lack was done two days ago.
    older_line = "UPDATE audit_lines SET line = convert_to(regexp_replace(convert_from(line, 'UTF8'), {}), 'UTF8') {}"
    last = "WHERE sequence = (SELECT max(sequence) FROM audit_lines)"
    change(live, older_line.format(r"""'"at":"[^"]*"', '"at":"2026-01-02T03:04:05.000000Z"'""", last))

    def without_the_last() -> str:
        copy = database()
        change(copy, f"DELETE FROM audit_lines {last}")
        return copy

    def another_history() -> str:
        copy = database()
        change(copy, f"UPDATE audit_lines SET link = sha256(link) {last}")
        return copy

    def reaches_further() -> str:
        copy = database()
        change(copy, f"INSERT INTO audit_lines SELECT sequence + 1, line, link FROM audit_lines {last}")
        return copy

    def unreadable() -> str:
        copy = database()
        change(copy, f"UPDATE audit_lines SET line = '[]' {last}")
        return copy

    def has_the_tables_already() -> str:
        copy = database()
        change(copy, TOMORROW)
        return copy

    def lost_an_entry() -> str:
        copy = database()
        # The table refuses it of everybody but one who has the server.
        change(copy, "SET session_replication_role = replica", "DELETE FROM ledger_entries WHERE sequence = 2")
        return copy

    cases: dict[str, str] = {
        "the installation itself": live.replace("127.0.0.1", "localhost"),
        "its audit log cannot be read|cannot be looked at": postgres_server.new_database(),
        "does not exist": postgres_server.url("nowhere"),
        "cannot be read": "postgresql://[",
        "the two audit logs differ": another_history(),
        "reaches further": reaches_further(),
        "more than 24 hours ago": without_the_last(),
        "a line of its audit log cannot be read": unreadable(),
        "is damaged": lost_an_entry(),
        "of no use": has_the_tables_already(),
    }
    for expected, copy in cases.items():
        lines = on_server.refused("upgrade", "apply", "--backup-url", copy, "--database-url", live)
        assert any(part in lines[0] for part in expected.split("|")), (expected, lines)
        assert last_step(live) == LAST, expected
    assert audited(live) == []
    # An operator who says how old it may be has said it.
    copy = without_the_last()
    words = ("--backup-url", copy, "--database-url", live, "--within-hours", "1000000")
    assert on_server.json("upgrade", "apply", *words)["backupOf"] is not None
    assert last_step(live) == LAST + 1


def test_it_wants_a_backup_or_a_word(on_server: Commands, database: Callable[[], str], tmp_path: Path) -> None:
    live, copy = database(), database()
    file = tmp_path / "identity.dump"
    file.write_bytes(b"PGDMP")
    for words in ((), ("--yes", "--backup-url", copy), ("--backup", file), ("--backup", file, "--yes")):
        lines = on_server.refused("upgrade", "apply", *words, "--database-url", live, status=2)
        assert "--backup-url" in lines[2]
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "identity.sqlite").touch()
    lines = on_server.refused("upgrade", "apply", "--backup-url", copy, "--data-dir", tmp_path / "data", status=2)
    assert "SQLite" in lines[0]
    assert last_step(live) == LAST
    made = on_server.json("upgrade", "apply", "--yes", "--database-url", live)
    assert (made["backupOf"], last_step(live)) == (None, LAST + 1)
    assert len(audited(live)) == 1


def test_the_store_of_every_step_is_brought_up(
    postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    every = migrations._steps
    for number in range(OLDEST, LAST):
        url = postgres_server.new_database()
        with monkeypatch.context() as patched:
            patched.setattr(migrations, "_steps", lambda package, dialect, upto=number: every(package, dialect)[:upto])
            asyncio.run(Store.open(tmp_path, url).close())
        assert last_step(url) == number
        asyncio.run(Store.open(tmp_path, url).close())
        assert (last_step(url), differences(url)) == (LAST, [])
