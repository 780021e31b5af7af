"""Copies of several files are of one moment, whatever is written while they are made."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from identity_operations.backup import snapshot
from identity_operations.backup.snapshot import copy_at_one_moment

from identity_core.database import DatabaseDamaged, DatabaseError, DatabaseUnavailable
from identity_core.database.files import FileLock


def make_database(path: Path, rows: int) -> Path:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode=WAL").fetchall()
        connection.execute("CREATE TABLE numbers (number INTEGER PRIMARY KEY, padding BLOB)")
        connection.execute("BEGIN")
        connection.executemany("INSERT INTO numbers VALUES (?, zeroblob(3000))", ((number,) for number in range(rows)))
        connection.execute("COMMIT")
    return path


def count(path: Path) -> int:
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return int(connection.execute("SELECT count(*) FROM numbers").fetchone()[0])


def test_row_written_during_copy_is_in_no_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "PAGES_AT_ONCE", 16)
    first, second = make_database(tmp_path / "a.sqlite", 100), make_database(tmp_path / "b.sqlite", 50)
    target = tmp_path / "copies"
    target.mkdir()
    told: list[int] = []
    with (
        closing(sqlite3.connect(first, isolation_level=None)) as one,
        closing(sqlite3.connect(second, isolation_level=None)) as other,
    ):

        def write(pages: int) -> None:
            told.append(pages)
            for writer in (one, other):
                writer.execute("INSERT INTO numbers (padding) VALUES (zeroblob(3000))")
                # A writer that writes its log back meets the readers of the copies.
                writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

        copy_at_one_moment([first, second], target, advance=write)
    assert len(told) > 4, "it copies in parts"
    assert (count(target / "a.sqlite"), count(target / "b.sqlite")) == (100, 50)
    assert (count(first), count(second)) == (100 + len(told), 50 + len(told))


def test_locks_are_given_back_before_it_copies(tmp_path: Path) -> None:
    path = make_database(tmp_path / "a.sqlite", 10)
    target = tmp_path / "copies"
    target.mkdir()
    lock, free = FileLock(tmp_path / "a.sqlite.lock"), []

    def look(pages: int) -> None:
        free.append(lock.try_acquire())
        lock.release()

    copy_at_one_moment([path], target, advance=look)
    lock.close()
    assert free
    assert all(free)


def test_a_writer_that_hangs_is_not_waited_for_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "PATIENCE_SECONDS", 0.02)
    path = make_database(tmp_path / "a.sqlite", 10)
    lock = FileLock(tmp_path / "a.sqlite.lock")
    lock.acquire()
    with pytest.raises(DatabaseUnavailable) as refused:
        copy_at_one_moment([path], tmp_path)
    assert "write lock" in refused.value.reason
    lock.close()


def test_file_that_is_no_database_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.sqlite").write_bytes(b"no database at all" * 1000)
    target = tmp_path / "copies"
    target.mkdir()
    with pytest.raises(DatabaseDamaged):
        copy_at_one_moment([tmp_path / "a.sqlite"], target)
    with pytest.raises(DatabaseError):
        copy_at_one_moment([tmp_path / "absent.sqlite"], target)
    assert not (tmp_path / "absent.sqlite").exists()
