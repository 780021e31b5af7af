"""Copies of several SQLite files in their state at one moment, while a service writes to them.

The locks of all files are acquired, a reading transaction is begun on each, and the locks are released. So a writer waits for a few
milliseconds, and all transactions see the state of one moment. Then SQLite's backup API copies each file from its transaction.
Meanwhile writers continue in the write-ahead log, which is not reset during a read.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Final

from identity_core.database.files import FileLock
from identity_core.database.interface import DatabaseUnavailable
from identity_core.database.sqlite_connection import POLL_SECONDS, patiently, translated

PATIENCE_SECONDS: Final = 30.0
PAGES_AT_ONCE: Final = 4_096


def copy_at_one_moment(
    paths: Sequence[Path], folder: Path, *, advance: Callable[[int], None] = lambda pages: None
) -> None:
    """Copy ``paths`` under their names to ``folder``. ``advance`` is called with the number of pages since its last call. Raises
    ``DatabaseUnavailable``, ``DatabaseDamaged``, ``OSError``."""
    with _pinned(paths) as readers:
        for path, reader in readers.items():
            done = 0

            def tell(_status: int, remaining: int, total: int) -> None:
                nonlocal done
                advance(total - remaining - done)
                done = total - remaining

            try:
                with closing(sqlite3.connect(folder / path.name, isolation_level=None)) as target:
                    reader.backup(target, pages=PAGES_AT_ONCE, progress=tell)
            except sqlite3.Error as error:
                raise translated(error) from error


@contextmanager
def _pinned(paths: Sequence[Path]) -> Iterator[Mapping[Path, sqlite3.Connection]]:
    """Yield a connection for each file, in a reading transaction; all of them see the files of one moment."""
    with ExitStack() as stack:
        locks = [_lock_of(path, stack) for path in sorted(paths)]
        readers: dict[Path, sqlite3.Connection] = {}

        def close() -> None:
            # The last connection to close writes the log back into the file, which must not happen beside a writer.
            with _hold_locks(locks):
                for reader in readers.values():
                    reader.close()

        stack.callback(close)
        with _hold_locks(locks):
            for path in paths:
                try:
                    readers[path] = _begun(path)
                except sqlite3.Error as error:
                    raise type(translated(error))(f"cannot read {path}: {error}") from error
        yield readers


def _begun(path: Path) -> sqlite3.Connection:
    reader = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=0.0, isolation_level=None)
    try:
        reader.execute("PRAGMA query_only=ON")
        patiently(lambda: reader.execute("BEGIN"), PATIENCE_SECONDS)
        # A transaction begins to see with its first statement.
        patiently(lambda: reader.execute("SELECT count(*) FROM sqlite_master").fetchone(), PATIENCE_SECONDS)
    except sqlite3.Error:
        reader.close()
        raise
    return reader


def _lock_of(path: Path, stack: ExitStack) -> FileLock:
    try:
        lock = FileLock(path.with_name(path.name + ".lock"))
    except OSError as error:
        raise DatabaseUnavailable(f"cannot lock {path}: {error.strerror}") from error
    stack.callback(lock.close)
    return lock


@contextmanager
def _hold_locks(locks: Sequence[FileLock]) -> Iterator[None]:
    """Hold all of the locks, acquired one after the other; a writer holds one of them at a time and never waits for a second."""
    give_up_at = time.monotonic() + PATIENCE_SECONDS
    with ExitStack() as stack:
        for lock in locks:
            while not lock.try_acquire():
                if time.monotonic() > give_up_at:
                    raise DatabaseUnavailable("another process holds the write lock")
                time.sleep(POLL_SECONDS)
            stack.callback(lock.release)
        yield
