"""The embedded database: one SQLite file in WAL mode, one writing connection per process.

Statements take microseconds, so a group runs on the event loop. Steps that wait for the disk or for another process run on the writer's
thread: the COMMIT with its fsync, checkpoints, and a lock that another process holds. README.md has the measurements. The loop and the
thread use the connection one at a time: while the thread commits, the next group waits.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from identity_core.database.files import FileLock, InPlace, Turn
from identity_core.database.group_commit import GroupCommit, Pending, WriterThread, hop
from identity_core.database.interface import (
    MAPPED_MEBIBYTES,
    DatabaseClosed,
    DatabaseError,
    DatabaseLoad,
    DatabaseMismatch,
    DatabaseUnavailable,
    Dialect,
    Job,
    T,
    Transaction,
)
from identity_core.database.sqlite_connection import (
    BetweenGroups,
    open_reader,
    open_writer,
    patiently,
    primary_code,
    run_jobs,
    translated,
)

PATIENCE_SECONDS = 5.0
# About 1,000 pages of 4 KiB in the write-ahead log, which is SQLite's own default between two checkpoints.
ROWS_BETWEEN_CHECKPOINTS = 400
# A row that is deleted by age is on a different page in each index: as many pages as a checkpoint writes in a few milliseconds.
ROWS_OF_HEAVY_JOBS = 50
# The time for which a process may hold the write lock before its event loop begins to use it.
TURN_SECONDS = 0.5


class SqliteDatabase:
    """``interface.Database`` on an SQLite file."""

    dialect: Dialect = "sqlite"
    read_only = False

    def __init__(self, path: Path, *, processes: int = 1, mapped_mebibytes: int = MAPPED_MEBIBYTES) -> None:
        self.path = path
        self._polite = processes > 1
        try:
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
            self._lock = FileLock(path.with_name(path.name + ".lock"))
        except OSError as error:
            raise DatabaseUnavailable(f"cannot open {path}: {error.strerror}") from error
        self._lock.acquire()
        try:
            self._writer = open_writer(path, patience_seconds=PATIENCE_SECONDS, mapped_mebibytes=mapped_mebibytes)
            self._reader = open_reader(path, mapped_mebibytes=mapped_mebibytes)
        except sqlite3.Error as error:
            self._lock.close()
            raise type(translated(error))(f"cannot open {path}: {error}") from error
        self._in_place = InPlace(path)
        self._lock.release()
        self._synchronous = True
        self._committing = False
        self._between_groups = BetweenGroups(self._writer, self._reader)
        self._reads: Transaction = self._between_groups
        self._rows_at_checkpoint = 0
        self._foreign = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._queue = GroupCommit(self._perform, self._recover)
        self.write = self._queue.submit
        self._worker = WriterThread(f"writer of {path.name}")

    def require_in_place(self) -> None:
        self._in_place.require()

    # Reading

    async def read(self, job: Job[T]) -> T:
        return self._read(self._reads, job)

    async def look_up(self, sql: str, parameters: Mapping[str, object]) -> list[Any]:
        return self._read(self._reads, lambda transaction: transaction.execute(sql, parameters).fetchall())

    def read_now(self, job: Job[T]) -> T:
        # May be called from another thread than that of the writer's jobs.
        return self._read(self._reader, job)

    def _read(self, transaction: Transaction, job: Job[T]) -> T:
        try:
            return job(transaction)
        except sqlite3.Error as error:
            if self._queue.closed:
                raise DatabaseClosed("the database is closed") from error
            raise translated(error) from error

    def foreign_changes(self) -> int:
        """See ``Database.foreign_changes``. While this object's commit is in flight no other process can write: the last value is valid."""
        if not self._committing:
            try:
                self._foreign = self._writer.execute("PRAGMA data_version").fetchone()[0]
            except sqlite3.Error as error:
                raise translated(error) from error
        return self._foreign

    # Writing

    def load(self) -> DatabaseLoad:
        return self._queue.load

    def write_now(self, job: Job[T]) -> T:
        if self._queue.busy:
            raise RuntimeError("write_now() would cut into a queued transaction")
        self._lock.acquire()
        try:
            self._set_synchronous(True)
            self._begin_patiently()
            self._in_place.require()
            result = job(self._writer)
            self._commit()
        except sqlite3.Error as error:
            raise translated(error) from error
        finally:
            self._release()
        return result

    def _perform(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        """Begin on the loop at once if the lock is free, else on the thread."""
        self._reads = self._reader
        if not self._polite and self._lock.try_acquire():
            try:
                self._begin(group)
            except sqlite3.Error as error:
                if primary_code(error) != sqlite3.SQLITE_BUSY:
                    self._finish(loop, group, translated(error))
                    return
            else:
                self._run(loop, group)
                return
        self._deadline = loop.call_later(PATIENCE_SECONDS, self._lose_patience, loop, group)
        self._worker.submit(lambda: self._wait_for_turn(loop, group))

    def _lose_patience(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        """Fail the waiting jobs on the loop, again and again while the thread waits, so that no job hangs because of another process."""
        self._queue.give_up(group, DatabaseUnavailable("another process holds the write lock"))
        self._deadline = loop.call_later(PATIENCE_SECONDS, self._lose_patience, loop, group)

    def _wait_for_turn(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        """Wait for the lock on the thread. The lock file is the queue of this service; other programs use SQLite's lock only."""
        seconds = TURN_SECONDS
        while not loop.is_closed():
            error: DatabaseError | None = None
            try:
                self._lock.acquire()
                self._set_synchronous(any(pending.durable for pending in group))
                self._begin_patiently()
            except (sqlite3.Error, OSError) as failure:
                error = translated(failure)
            turn = Turn()
            hop(loop, self._have_turn, loop, group, error, turn)
            if not turn.withdraw(seconds):
                return
            self._release()
            # A slow loop gets the lock in the end.
            seconds *= 2
            # Taking the lock again before the loop continues would delay the other processes for nothing.
            while not turn.noticed.wait(TURN_SECONDS) and not loop.is_closed():
                pass

    def _have_turn(
        self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending], error: DatabaseError | None, turn: Turn
    ) -> None:
        """Use the lock on the loop. A lock that was withdrawn is ignored: the thread acquires it again."""
        if not turn.take():
            return
        if self._deadline is not None:
            self._deadline.cancel()
        if error is None:
            self._run(loop, group)
        else:
            self._finish(loop, group, error)

    def _begin(self, group: Sequence[Pending]) -> None:
        self._set_synchronous(any(pending.durable for pending in group))
        self._writer.execute("BEGIN IMMEDIATE")
        self._writer.group += 1

    def _begin_patiently(self) -> None:
        patiently(lambda: self._writer.execute("BEGIN IMMEDIATE"), PATIENCE_SECONDS)
        self._writer.group += 1

    def _set_synchronous(self, durable: bool) -> None:
        if durable != self._synchronous:
            # With executescript, because this pragma acts while it is parsed, and cached statements are not parsed again.
            self._writer.executescript("PRAGMA synchronous=FULL" if durable else "PRAGMA synchronous=NORMAL")
            self._synchronous = durable

    def _run(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        """Run the jobs on the loop. The commit runs on the thread if it must reach the disk, or is large."""
        wanted = [pending for pending in group if pending.is_wanted]
        try:
            self._in_place.require()
            run_jobs(self._writer, wanted)
        except (sqlite3.Error, DatabaseUnavailable, DatabaseMismatch) as failure:
            self._finish(loop, group, translated(failure) if isinstance(failure, sqlite3.Error) else failure)
            return
        if any((pending.durable or pending.heavy) and pending.error is None for pending in wanted):
            self._committing = True
            self._worker.submit(lambda: self._commit_on_thread(loop, group))
            return
        error: DatabaseError | None = None
        try:
            self._commit()
        except sqlite3.Error as failure:
            error = translated(failure)
        self._finish(loop, group, error)

    def _commit(self) -> None:
        self._writer.execute("COMMIT")

    def _commit_on_thread(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending]) -> None:
        error: DatabaseError | None = None
        try:
            self._commit()
        except sqlite3.Error as failure:
            error = translated(failure)
        is_heavy = any(pending.heavy for pending in group)
        if error is None and self._checkpoint_is_due(ROWS_OF_HEAVY_JOBS if is_heavy else ROWS_BETWEEN_CHECKPOINTS):
            if not is_heavy:
                # The answers need not wait for the checkpoint; the next group does.
                hop(loop, self._queue.deliver, group, None)
            self._checkpoint()
        self._release()
        hop(loop, self._finish, loop, group, error)

    def _finish(self, loop: asyncio.AbstractEventLoop, group: Sequence[Pending], error: DatabaseError | None) -> None:
        """Finish a group, on the loop."""
        self._queue.deliver(group, error)
        if error is None and self._checkpoint_is_due():
            self._committing = True
            self._worker.submit(lambda: self._checkpoint_on_thread(loop))
            return
        self._release()
        self._reads = self._between_groups
        self._queue.proceed()

    def _checkpoint_on_thread(self, loop: asyncio.AbstractEventLoop) -> None:
        self._checkpoint()
        self._release()
        hop(loop, self._finish, loop, (), None)

    def _checkpoint_is_due(self, rows: int = ROWS_BETWEEN_CHECKPOINTS) -> bool:
        return self._writer.total_changes - self._rows_at_checkpoint > rows

    def _checkpoint(self) -> None:
        self._rows_at_checkpoint = self._writer.total_changes
        # A failure here occurs again, and is reported, with the next commit; everything is in the log already.
        with suppress(sqlite3.Error):
            self._writer.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall()

    def _release(self) -> None:
        """End any open transaction and release the lock for the next process. ``foreign_changes`` relies on the order."""
        if self._writer.in_transaction:
            with suppress(sqlite3.Error):
                self._writer.execute("ROLLBACK")
        self._committing = False
        self._lock.release()

    def _recover(self) -> None:
        """Recover after the event loop ended with an open group: wait for the thread, and undo uncommitted changes."""
        self._worker.wait()
        self._release()
        self._reads = self._between_groups

    async def close(self) -> None:
        if self._queue.closed:
            return
        await self._queue.drain()
        self._worker.stop()
        # The last connection to close checkpoints the log, which must not happen beside another writer.
        self._lock.acquire()
        self._reader.close()
        self._writer.close()
        self._lock.close()
