"""A file that is moved away under its connections takes no more writes; what is looked at stays as it is."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from pathlib import Path

import pytest

from identity_core.database import (
    DatabaseAbsent,
    DatabaseDamaged,
    DatabaseReplaced,
    DatabaseUnavailable,
    faults_of,
    open_database,
)

INSERT = "INSERT INTO t VALUES (1)"


@pytest.mark.parametrize("suffix", ["", "-wal"])
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("durable", [True, False])
def test_nothing_is_written_to_a_file_that_was_moved_away(
    tmp_path: Path, suffix: str, processes: int, durable: bool
) -> None:
    path = tmp_path / "one.sqlite"

    async def scenario() -> None:
        database = open_database(None, path, processes=processes)
        database.write_now(lambda transaction: transaction.execute("CREATE TABLE t (x)").rowcount)
        await database.write(lambda transaction: transaction.execute(INSERT).rowcount)
        database.require_in_place()
        os.rename(f"{path}{suffix}", tmp_path / "away")
        for _ in range(3):
            with pytest.raises(DatabaseReplaced):
                await database.write(lambda transaction: transaction.execute(INSERT).rowcount, durable=durable)
        with pytest.raises(DatabaseReplaced):
            database.write_now(lambda transaction: transaction.execute(INSERT).rowcount)
        with pytest.raises(DatabaseReplaced):
            database.require_in_place()
        assert await database.read(lambda transaction: transaction.execute("SELECT count(*) FROM t").fetchone()) == (1,)
        os.rename(tmp_path / "away", f"{path}{suffix}")
        await database.write(lambda transaction: transaction.execute(INSERT).rowcount)
        await database.close()

    asyncio.run(scenario())


def test_a_look_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    with pytest.raises(DatabaseAbsent):
        open_database(None, path, read_only=True)
    assert list(tmp_path.iterdir()) == []
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE t (x)")
    connection.close()

    async def scenario() -> None:
        look = open_database(None, path, read_only=True)
        assert look.read_only
        assert await look.read(lambda transaction: transaction.execute("SELECT count(*) FROM t").fetchone()) == (0,)
        with pytest.raises(DatabaseUnavailable):
            await look.write(lambda transaction: transaction.execute(INSERT).rowcount)
        with pytest.raises(DatabaseUnavailable):
            await look.read(lambda transaction: transaction.execute(INSERT).rowcount)
        await look.close()

    asyncio.run(scenario())
    assert [one.name for one in tmp_path.iterdir()] == ["one.sqlite"]


def test_a_broken_file_is_called_broken(tmp_path: Path) -> None:
    path = tmp_path / "one.sqlite"
    path.write_bytes(b"no database at all" * 500)
    with pytest.raises(DatabaseDamaged):
        open_database(None, path)
    assert faults_of(path) == ["file is not a database"]
    assert faults_of(tmp_path / "absent") == []
