"""Tables: made at the first start, left alone at the next, and the same in models and migrations."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory

from identity_core.database import MigrationFailed, open_database
from identity_core.store import Store, schema, whole
from identity_core.store.migrations import HEAD
from identity_core.store.migrations.__main__ import written


def test_models_and_migrations_agree(store: Store, tmp_path: Path, url: str | None) -> None:
    with schema.engine_for(url, tmp_path / "identity.sqlite").connect() as connection:
        command.check(schema.alembic_config(connection))


def test_head_names_the_newest_revision(tmp_path: Path) -> None:
    with schema.engine_for(None, tmp_path / "x.sqlite").connect() as connection:
        assert ScriptDirectory.from_config(schema.alembic_config(connection)).get_current_head() == HEAD


def test_the_way_down_and_up_again(store: Store, tmp_path: Path, url: str | None) -> None:
    asyncio.run(store.close())
    engine = schema.engine_for(url, tmp_path / "identity.sqlite")
    for target in ("base", "head"):
        with engine.connect() as connection:
            step = command.downgrade if target == "base" else command.upgrade
            step(schema.alembic_config(connection), target)
            connection.commit()
    with engine.connect() as connection:
        command.check(schema.alembic_config(connection))
    asyncio.run(Store.open(tmp_path, url).close())


def test_a_database_of_a_newer_version_is_refused(store: Store, tmp_path: Path, url: str | None) -> None:
    store.database.write_now(lambda tx: tx.execute("UPDATE store_migrations SET version_num = '9999'"))
    asyncio.run(store.close())
    with pytest.raises(MigrationFailed, match="newer version"):
        Store.open(tmp_path, url)


def test_processes_that_start_at_once_all_start(tmp_path: Path, url: str | None) -> None:
    code = "import sys, pathlib; from identity_core.store import Store; Store.open(pathlib.Path(sys.argv[1]), *sys.argv[2:])"
    command_line = [sys.executable, "-c", code, str(tmp_path), *([] if url is None else [url])]
    processes = [subprocess.Popen(command_line, stderr=subprocess.PIPE) for _ in range(3)]
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors.decode()


@pytest.mark.parametrize("first", [True, False])
def test_neither_the_first_start_on_a_file_nor_the_usual_one_needs_an_orm(tmp_path: Path, first: bool) -> None:
    if not first:
        asyncio.run(Store.open(tmp_path).close())
    code = (
        "import sys, pathlib; from identity_core.store import Store; Store.open(pathlib.Path(sys.argv[1]));"
        "sys.exit(bool({'sqlalchemy', 'alembic', 'sqlmodel'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code, str(tmp_path)], timeout=60).returncode == 0


def test_the_tables_in_one_go_are_those_of_the_migrations(tmp_path: Path) -> None:
    assert whole.text() == written(), "not fresh: run python -m identity_core.store.migrations"
    asyncio.run(Store.open(tmp_path).close())
    schema.upgrade(schema.engine_for(None, tmp_path / "migrated.sqlite"))
    assert contents(tmp_path / "identity.sqlite") == contents(tmp_path / "migrated.sqlite")


def test_a_file_that_has_tables_is_migrated_step_by_step(tmp_path: Path) -> None:
    with schema.engine_for(None, tmp_path / "identity.sqlite").connect() as connection:
        command.upgrade(schema.alembic_config(connection), "0001")
        connection.commit()
    asyncio.run(Store.open(tmp_path).close())
    schema.upgrade(schema.engine_for(None, tmp_path / "migrated.sqlite"))
    assert contents(tmp_path / "identity.sqlite") == contents(tmp_path / "migrated.sqlite")


def contents(path: Path) -> list[str]:
    """Tables, indexes and rows."""
    with closing(sqlite3.connect(path)) as database:
        return list(database.iterdump())


def test_a_migration_that_breaks_leaves_nothing_behind(
    tmp_path: Path, url: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from alembic import op

    def broken(_: str) -> None:
        raise RuntimeError("power is gone")

    monkeypatch.setattr(op, "execute", broken)
    with pytest.raises(RuntimeError, match="power"):
        schema.upgrade(schema.engine_for(url, tmp_path / "identity.sqlite"))
    monkeypatch.undo()
    database = open_database(url, tmp_path / "identity.sqlite")
    catalogue = "sqlite_master" if url is None else "pg_tables WHERE schemaname = 'public'"
    assert database.read_now(lambda tx: tx.execute(f"SELECT count(*) FROM {catalogue}").fetchone()) == (0,)
    asyncio.run(database.close())
    asyncio.run(Store.open(tmp_path, url).close())
