"""Connections to an SQLite file: running a group of jobs, and conversion of errors."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from identity_core.database.files import FileLock
from identity_core.database.group_commit import Pending, run_together
from identity_core.database.interface import (
    ConstraintViolated,
    DatabaseDamaged,
    DatabaseError,
    DatabaseUnavailable,
    Parameters,
)

POLL_SECONDS = 0.002

_READER = """
PRAGMA query_only=ON; PRAGMA mmap_size={mapped}; PRAGMA cache_size=-16384; PRAGMA wal_autocheckpoint=0;
"""
_WRITER = """
PRAGMA foreign_keys=ON; PRAGMA mmap_size={mapped}; PRAGMA cache_size=-65536; PRAGMA wal_autocheckpoint=0;
PRAGMA journal_size_limit=67108864; PRAGMA synchronous=FULL;
"""

_SELECTS = ("SELECT", "\nSELECT")


class Connection(sqlite3.Connection):
    """A connection that is itself the ``Transaction`` of jobs. ``group`` counts the BEGINs (the reader's stays 0)."""

    group: int = 0


class BetweenGroups:
    """The ``Transaction`` of jobs that read while no group is running. SELECT statements run on the writer's
    connection, whose page cache survives its own commits. All others run on the reader's, which refuses to write."""

    group = 0

    def __init__(self, writer: Connection, reader: Connection) -> None:
        self._writer = writer
        self._reader = reader

    def execute(self, sql: str, /, *parameters: Parameters) -> sqlite3.Cursor:
        # An SQLite statement that begins with SELECT never writes; one that begins with WITH may.
        connection = self._writer if sql.startswith(_SELECTS) else self._reader
        return connection.execute(sql, *parameters)

    def executemany(self, sql: str, rows: Sequence[Sequence[Any]], /) -> sqlite3.Cursor:
        return self._reader.executemany(sql, rows)


def open_writer(path: Path, *, patience_seconds: float, mapped_mebibytes: int) -> Connection:
    """Return the one writing connection. It never blocks, because it is used on the event loop.

    ``patience_seconds``: the time for which opening waits for processes that end without this service's lock, because
    the last connection closes with the whole file to itself.
    ``mapped_mebibytes``: the MiB of the file that it maps.
    """
    connection = _connect(path, seconds=0.0)
    try:
        patiently(lambda: connection.execute("PRAGMA journal_mode=WAL").fetchall(), patience_seconds)
        connection.executescript(_WRITER.format(mapped=mapped_mebibytes * 2**20))
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def patiently(step: Callable[[], object], seconds: float) -> None:
    """Retry ``step`` while the file is locked. SQLite's own waiting does not cover a change of the journal, and
    sleeps too long."""
    give_up_at = time.monotonic() + seconds
    while True:
        try:
            step()
        except sqlite3.OperationalError as error:
            if primary_code(error) != sqlite3.SQLITE_BUSY or time.monotonic() > give_up_at:
                raise
            time.sleep(POLL_SECONDS)
        else:
            return


def open_reader(path: Path, *, mapped_mebibytes: int) -> Connection:
    """Return a connection that cannot write."""
    connection = _connect(path, seconds=1.0)
    connection.executescript(_READER.format(mapped=mapped_mebibytes * 2**20))
    return connection


def rewrite(path: Path, lock: FileLock, *, patience_seconds: float) -> bool:
    """Rewrite a file and truncate its write-ahead log, so that neither contains deleted or overwritten data. Blocks,
    and takes ``lock``, that of the file.

    Return False if readers prevented it all the time. Raises ``DatabaseError``: when it fails.
    """
    give_up_at = time.monotonic() + patience_seconds
    try:
        with closing(_connect(path, seconds=0.0)) as connection:
            # So the copy that VACUUM makes is not a separate file.
            connection.execute("PRAGMA temp_store=MEMORY")
            while True:
                lock.acquire()
                try:
                    is_busy = not _rewritten(connection)
                finally:
                    lock.release()
                if not is_busy or time.monotonic() > give_up_at:
                    return not is_busy
                time.sleep(POLL_SECONDS)
    except sqlite3.Error as error:
        raise translated(error) from error


def _rewritten(connection: Connection) -> bool:
    # Not ``secure_delete``: data that was deleted before it was on stays, and only some builds of SQLite begin with
    # it.
    try:
        connection.execute("VACUUM")
    except sqlite3.OperationalError as error:
        if primary_code(error) != sqlite3.SQLITE_BUSY:
            raise
        return False
    return not connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]


def run_jobs(writer: Connection, jobs: Sequence[Pending]) -> None:
    """Run the jobs, first without savepoints. If one raises, the transaction starts again with a savepoint for each
    job, which takes three times as many statements.

    Raises ``DatabaseUnavailable`` or ``sqlite3.Error``: when the whole transaction is lost.
    """
    # A savepoint around all of them would make SQLite copy each page before it changes.
    if not run_together(writer, jobs):
        _require_transaction(writer)
        writer.execute("ROLLBACK")
        writer.execute("BEGIN IMMEDIATE")
        writer.group += 1
        _run_apart(writer, jobs)


def _run_apart(writer: Connection, jobs: Sequence[Pending]) -> None:
    """Run each job within a separate savepoint: if it raises, only its own work is undone."""
    for pending in jobs:
        writer.execute("SAVEPOINT job")
        try:
            pending.result = pending.job(writer)
        # Any error of the job belongs to its caller, which is not here; the writer must survive it.
        except Exception as error:  # noqa: BLE001
            pending.error = translated(error) if isinstance(error, sqlite3.Error) else error
            _require_transaction(writer)
            writer.execute("ROLLBACK TO job")
        writer.execute("RELEASE job")


def _require_transaction(writer: Connection) -> None:
    """Raise ``DatabaseUnavailable`` when a full disk made SQLite undo the whole transaction, and with it the work of
    every job."""
    if not writer.in_transaction:
        raise DatabaseUnavailable("the transaction was undone: is the disk full?")


def translated(error: sqlite3.Error | OSError) -> DatabaseError:
    """Return this package's error for one of the driver's: ``DatabaseUnavailable`` for disk and locks,
    ``DatabaseDamaged`` for a broken file, a plain ``DatabaseError`` for a fault in the SQL itself."""
    if isinstance(error, sqlite3.IntegrityError):
        return ConstraintViolated(str(error))
    if isinstance(error, sqlite3.Error) and primary_code(error) in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return DatabaseDamaged(str(error))
    if isinstance(error, sqlite3.Error) and primary_code(error) in (0, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_MISUSE):
        return DatabaseError(str(error))
    return DatabaseUnavailable(str(error))


def primary_code(error: sqlite3.Error) -> int:
    """Return the primary code of an error; 0 for errors that Python itself raises."""
    return int(getattr(error, "sqlite_errorcode", 0)) & 0xFF


def _connect(path: Path, *, seconds: float) -> Connection:
    return sqlite3.connect(
        path, timeout=seconds, isolation_level=None, check_same_thread=False, cached_statements=256, factory=Connection
    )
