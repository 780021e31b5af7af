"""Numbered SQL files: each once, in order, all or nothing."""

from __future__ import annotations

import asyncio
import contextvars
import importlib
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from identity_core.database import (
    Database,
    DatabaseError,
    MigrationFailed,
    MigrationPending,
    migrate,
    open_sqlite,
    refuse_upgrades,
)

FIRST = "-- What it is for; with a semicolon;\nCREATE TABLE toy_a (x INTEGER);\n\nINSERT INTO toy_a VALUES (1);\n"
Package = Callable[..., str]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Package:
    monkeypatch.syspath_prepend(tmp_path)
    folder = tmp_path / "toy_migrations"
    folder.mkdir()
    (folder / "__init__.py").touch()
    sys.modules.pop("toy_migrations", None)
    importlib.invalidate_caches()

    def write(**files: str) -> str:
        for name, text in files.items():
            (folder / name.replace("__", ".")).write_text(text)
        return "toy_migrations"

    return write


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_sqlite(tmp_path / "x.sqlite")
    yield opened
    asyncio.run(opened.close())


def count(database: Database, table: str) -> int:
    return database.read_now(lambda tx: tx.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def test_steps_run_once_and_in_order(database: Database, package: Package) -> None:
    name = package(**{"0001_a__sql": FIRST})
    migrate(database, name, "toy_")
    migrate(database, name, "toy_")
    assert count(database, "toy_a") == 1
    package(**{"0002_b__sql": "INSERT INTO toy_a SELECT x + 1 FROM toy_a;"})
    migrate(database, name, "toy_")
    assert count(database, "toy_a") == 2


def test_an_older_database_is_refused_after_refuse_upgrades(database: Database, package: Package) -> None:
    name = package(**{"0001_a__sql": FIRST})
    context = contextvars.copy_context()
    context.run(refuse_upgrades)
    context.run(migrate, database, name, "toy_")
    package(**{"0002_b__sql": "INSERT INTO toy_a SELECT x + 1 FROM toy_a;"})
    with pytest.raises(MigrationPending, match=r"toy_migrations: 0002_b\.sql has yet to run"):
        context.run(migrate, database, name, "toy_")
    assert count(database, "toy_a") == 1
    migrate(database, name, "toy_")
    context.run(migrate, database, name, "toy_")
    assert count(database, "toy_a") == 2


def test_each_dialect_has_its_own_file(database: Database, package: Package) -> None:
    name = package(**{"0001_a__sqlite__sql": FIRST, "0001_a__postgresql__sql": "CREATE NONSENSE;\n"})
    migrate(database, name, "toy_")
    assert count(database, "toy_a") == 1


def test_a_step_that_breaks_leaves_nothing_behind(database: Database, package: Package) -> None:
    name = package(**{"0001_a__sql": FIRST, "0002_b__sql": "CREATE TABLE toy_b (x);\nINSERT INTO nowhere VALUES (1);"})
    with pytest.raises(DatabaseError, match="nowhere"):
        migrate(database, name, "toy_")
    with pytest.raises(DatabaseError, match="toy_a"):
        count(database, "toy_a")


def test_an_edited_step_is_refused(database: Database, package: Package) -> None:
    name = package(**{"0001_a__sql": FIRST})
    migrate(database, name, "toy_")
    package(**{"0001_a__sql": FIRST + "INSERT INTO toy_a VALUES (2);"})
    with pytest.raises(MigrationFailed, match="was changed after it ran"):
        migrate(database, name, "toy_")


def test_a_newer_database_is_refused(database: Database, package: Package, tmp_path: Path) -> None:
    name = package(**{"0001_a__sql": FIRST, "0002_b__sql": "CREATE TABLE toy_b (x INTEGER);"})
    migrate(database, name, "toy_")
    (tmp_path / "toy_migrations" / "0002_b.sql").unlink()
    with pytest.raises(MigrationFailed, match="newer version"):
        migrate(database, name, "toy_")


@pytest.mark.parametrize("files", [("0002_b__sql",), ("0001_a__sql", "0001_b__sql"), ("0001_a__sql", "0003_c__sql")])
def test_numbers_have_no_gap_and_no_double(database: Database, package: Package, files: tuple[str, ...]) -> None:
    name = package(**dict.fromkeys(files, "SELECT 1;"))
    with pytest.raises(MigrationFailed, match="numbered"):
        migrate(database, name, "toy_")


@pytest.mark.parametrize("prefix", ["", "toy", "Toy_", "toy_; DROP TABLE x; --"])
def test_a_prefix_is_a_plain_word(database: Database, package: Package, prefix: str) -> None:
    with pytest.raises(ValueError, match="prefix"):
        migrate(database, package(**{"0001_a__sql": FIRST}), prefix)


def test_two_that_start_at_once_do_it_once(database: Database, package: Package, tmp_path: Path) -> None:
    name = package(**{"0001_a__sql": FIRST})
    other = open_sqlite(tmp_path / "x.sqlite")
    threads = [threading.Thread(target=migrate, args=(each, name, "toy_")) for each in (database, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert count(database, "toy_a") == 1
    asyncio.run(other.close())
