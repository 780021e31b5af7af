"""Writes ``whole.sql``: what the migrations leave behind in an empty SQLite file, the rows that they insert among it.

python -m identity_core.store.migrations
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from identity_core.store.schema import engine_for, upgrade
from identity_core.store.whole import END, HEADING, NAME


def written() -> str:
    """The text of the file. It depends on the migrations alone, byte for byte."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "migrated.sqlite")
        engine = engine_for(None, path)
        try:
            upgrade(engine)
        finally:
            engine.dispose()
        with closing(sqlite3.connect(path)) as database:
            return HEADING + "".join(statement + END for statement in _statements(database))


def _statements(database: sqlite3.Connection) -> Iterator[str]:
    # Not by iterdump(), whose form differs between versions of Python. Indexes that SQLite makes by itself have no SQL.
    made = database.execute("SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid").fetchall()
    for kind, name, sql in made:
        yield sql
        if kind == "table":
            yield from _rows(database, name)


def _rows(database: sqlite3.Connection, table: str) -> Iterator[str]:
    names = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    values = " || ', ' || ".join(f"quote({name})" for name in names)
    for (row,) in database.execute(f"SELECT {values} FROM {table} ORDER BY 1"):
        yield f"INSERT INTO {table} ({', '.join(names)}) VALUES ({row})"


if __name__ == "__main__":
    Path(__file__).with_name(NAME).write_text(written(), "utf-8")
