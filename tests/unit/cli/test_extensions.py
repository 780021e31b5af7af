"""``identity extensions``: what is on and why, turned on and off in the settings file, and removed."""

from __future__ import annotations

import asyncio
import json
import sqlite3
import tomllib
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from identity_core.store import Store
from tests.postgres_server import postgres_server, postgres_url
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server", "postgres_url"]

pytest.importorskip("identity_vcalm")


@pytest.fixture
def settings_file(tmp_path: Path) -> Path:
    path = tmp_path / "identity.toml"
    path.write_text(f'data_dir = "{tmp_path / "data"}"  # here\n')
    return path


@pytest.fixture
def here(settings_file: Path) -> Commands:
    return Commands({"IDENTITY_CONFIG": str(settings_file), "IDENTITY_EXTENSIONS_ENABLED": ""})


def new_store(settings_file: Path) -> Path:
    folder = settings_file.parent / "data"
    folder.mkdir(mode=0o700)
    asyncio.run(Store.open(folder).close())
    return folder / "identity.sqlite"


def state(here: Commands) -> str:
    return next(row["state"] for row in here.json("extensions", "list") if row["name"] == "vcalm")


def test_extension_is_turned_on_and_off(here: Commands, settings_file: Path) -> None:
    before = settings_file.read_text()
    assert state(here) == "off"
    assert "restart the service" in here.ok("extensions", "enable", "vcalm")
    assert state(here) == "on"
    assert here.json("extensions", "disable", "vcalm")["on"] is False
    assert state(here) == "off"
    assert settings_file.read_text().startswith(before)
    assert tomllib.loads(settings_file.read_text())["extensions"] == {"enabled": [], "disabled": ["vcalm"]}


def test_list_shows_the_place_of_the_setting(here: Commands, settings_file: Path) -> None:
    here.ok("extensions", "enable", "vcalm")
    assert f"vcalm: on (file {settings_file}:4)" in here.ok("extensions", "list")


def test_unknown_name_is_refused(here: Commands) -> None:
    lines = here.refused("extensions", "enable", "vclam", status=2)
    assert lines[0] == "error: No extension vclam is installed."
    assert lines[2] == "  do: Did you mean vcalm?"


def test_environment_wins_over_the_file(settings_file: Path) -> None:
    here = Commands({"IDENTITY_CONFIG": str(settings_file), "IDENTITY_EXTENSIONS_ENABLED": "vcalm"})
    before = settings_file.read_text()
    assert "environment" in here.refused("extensions", "disable", "vcalm", status=2)[0]
    assert settings_file.read_text() == before


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


def test_lists_in_another_form_are_left_alone(here: Commands, settings_file: Path) -> None:
    settings_file.write_text(settings_file.read_text() + 'extensions = { disabled = ["vcalm"] }\n')
    before = settings_file.read_text()
    assert "yourself" in here.refused("extensions", "enable", "vcalm")[2]
    assert settings_file.read_text() == before


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
