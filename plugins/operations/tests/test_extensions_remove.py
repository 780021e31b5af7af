"""``identity extensions remove`` drops what an extension has stored, and nothing of the kernel."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from identity_operations.commands.extensions_remove import purge_tables, tables_of

from identity_core.extension.choice import InstalledExtension, in_order, read_store
from identity_core.settings import Settings
from identity_core.store import Store
from plugins.operations.tests.test_extensions import here, settings_file, state
from tests.postgres_server import postgres_server, postgres_url
from tests.unit.cli.conftest import Commands
from tests.unit.extension.test_choice import open_and_close_store, settings
from tests.unit.extension.test_extensions import toy

__all__ = ["here", "postgres_server", "postgres_url", "settings", "settings_file"]


def new_store(settings_file: Path) -> Path:
    folder = settings_file.parent / "data"
    folder.mkdir(mode=0o700)
    asyncio.run(Store.open(folder).close())
    return folder / "identity.sqlite"


def test_refused_purge_drops_nothing(settings_file: Path) -> None:
    path = new_store(settings_file)
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE vcalm_notes (id INTEGER)")
        file.commit()
    here = Commands({"IDENTITY_CONFIG": str(settings_file), "IDENTITY_EXTENSIONS_ENABLED": "vcalm"})
    assert "environment" in here.refused("extensions", "remove", "vcalm", "--purge", "--yes", status=2)[0]
    with closing(sqlite3.connect(path)) as file:
        file.execute("SELECT * FROM vcalm_notes")


def test_adopted_tables_are_emptied_and_stay(here: Commands, settings_file: Path) -> None:
    path = new_store(settings_file)
    with closing(sqlite3.connect(path)) as file:
        columns = [row[1] for row in file.execute("PRAGMA table_info(presentation_requests)") if row[3]]
        file.execute(
            f"INSERT INTO presentation_requests ({', '.join(columns)}) VALUES ({', '.join('1' * len(columns))})"
        )
        file.commit()
    assert here.json("extensions", "remove", "wallets", "--purge", "--yes")["dropped"] == ["presentation_requests"]
    with closing(sqlite3.connect(path)) as file:
        assert file.execute("SELECT count(*) FROM presentation_requests").fetchone() == (0,)


def test_tables_are_dropped_after_a_confirmation(here: Commands, settings_file: Path) -> None:
    path = new_store(settings_file)
    assert "vcalm has no tables" in here.ok("extensions", "remove", "vcalm")
    with closing(sqlite3.connect(path)) as file:
        file.execute("CREATE TABLE vcalm_notes (id INTEGER)")
        file.commit()

    def tables() -> set[str]:
        with closing(sqlite3.connect(path)) as file:
            return {row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    before = tables()
    assert here.json("extensions", "remove", "vcalm")["tables"] == ["vcalm_notes"]
    refused = here("extensions", "remove", "vcalm", "--purge", "--json")
    assert refused.exit_code == 2
    assert json.loads(refused.stderr)["error"]["do"] == "give --yes to drop them"
    assert tables() == before
    assert here.json("extensions", "remove", "vcalm", "--purge", "--yes")["dropped"] == ["vcalm_notes"]
    assert before - tables() == {"vcalm_notes"}
    assert state(here) == "off"


def test_tables_on_postgresql_are_dropped(here: Commands, settings_file: Path, postgres_url: str) -> None:
    """Tables that refer to one another are dropped together; rows of an adopted table go, and an open reader stops nothing."""
    settings_file.write_text(f'{settings_file.read_text()}database_url = "{postgres_url}"\n')
    here.refused("extensions", "remove", "vcalm", "--purge", "--yes", status=2)
    asyncio.run(Store.open(settings_file.parent, postgres_url).close())
    with psycopg.connect(postgres_url, autocommit=True) as reader:
        reader.execute(
            "CREATE TABLE vcalm_b (id INTEGER PRIMARY KEY); CREATE TABLE vcalm_a (b INTEGER REFERENCES vcalm_b (id))"
        )
        reader.execute("INSERT INTO vcalm_b VALUES (1); INSERT INTO vcalm_a VALUES (1)")
        before = tables_on(reader)
        assert here.json("extensions", "remove", "vcalm")["tables"] == ["vcalm_a", "vcalm_b"]
        assert tables_on(reader) == before
        assert here.json("extensions", "remove", "vcalm", "--purge", "--yes")["dropped"] == ["vcalm_a", "vcalm_b"]
        assert before - tables_on(reader) == {"vcalm_a", "vcalm_b"}
        reader.execute("INSERT INTO witness_files VALUES ('did:a', 1, 1, '')")
        here.json("extensions", "disable", "anchoring")
        assert here.json("extensions", "remove", "transparency", "--purge", "--yes")["dropped"]
        assert reader.execute("SELECT count(*) FROM witness_files").fetchone() == (0,)
    assert "vcalm has no tables" in here.ok("extensions", "remove", "vcalm")
    asyncio.run(Store.open(settings_file.parent, postgres_url).close())


def tables_on(connection: psycopg.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}


def test_removal_of_a_missing_installation_is_refused(here: Commands, settings_file: Path) -> None:
    here.refused("extensions", "remove", "vcalm", "--purge", "--yes", status=2)
    assert not (settings_file.parent / "data").exists()


def test_upgrade_check_lists_what_stays_on(here: Commands, settings_file: Path) -> None:
    path = new_store(settings_file)
    assert state(here) == "off"
    with closing(sqlite3.connect(path)) as file:
        file.execute("INSERT INTO kept_extensions VALUES ('vcalm')")
        file.commit()
    assert state(here) == "on"
    assert "vcalm stays on; turn it off: identity extensions disable vcalm" in here.ok("upgrade", "check")
    here.ok("extensions", "disable", "vcalm")
    assert here.json("upgrade", "check")["keptExtensions"] == []


@pytest.mark.parametrize("name", ["anchor", "did", "idempotency", "presentation", "transparency"])
def test_tables_of_the_kernel_are_not_those_of_an_extension(settings: Settings, name: str) -> None:
    open_and_close_store(settings)
    (one,) = in_order([toy(name)])
    assert read_store(settings, lambda reading: tables_of(reading, "sqlite", one.declared, [one])) == []


def test_tables_of_an_extension_are_dropped(settings: Settings) -> None:
    open_and_close_store(settings)
    installed: list[InstalledExtension] = in_order([toy("box", adopts=("old", "gone")), toy("box_lid")])
    with closing(sqlite3.connect(settings.data_dir / "identity.sqlite")) as file:
        file.execute("CREATE TABLE box_a (id INTEGER PRIMARY KEY)")
        file.execute("CREATE TABLE box_b (id INTEGER REFERENCES box_a (id))")
        file.execute("CREATE TABLE box_lid_a (id INTEGER)")
        file.execute("CREATE TABLE old (id INTEGER)")
        file.execute("CREATE TABLE boxes (id INTEGER)")
        file.execute("INSERT INTO box_a VALUES (1)")
        file.execute("INSERT INTO box_b VALUES (1)")
        file.commit()

    def tables() -> list[str]:
        return read_store(settings, lambda reading: tables_of(reading, "sqlite", installed[0].declared, installed))

    assert tables() == ["box_a", "box_b", "old"]
    purge_tables(settings, installed[0].declared, tables())
    assert tables() == ["old"]
    with closing(sqlite3.connect(settings.data_dir / "identity.sqlite")) as file:
        names = {row[0] for row in file.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert {"box_lid_a", "boxes", "audit_lines", "store_migrations"} <= names
    purge_tables(settings, installed[0].declared, [])
