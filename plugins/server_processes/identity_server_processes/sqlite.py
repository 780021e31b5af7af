"""Token buckets in an SQLite file that the worker processes of one machine share.

One upsert decides and takes the tokens; it is atomic because SQLite has one writer. Nothing must survive a crash, so
the file is never synced: a decision costs some microseconds and runs on the event loop. The writer of ``database``
would take four times as long, because with several writing processes it waits for the lock on a thread.

Time is the machine's monotonic count, which all its processes share. It restarts with the machine. A stored time that
is too far ahead then counts as an empty bucket (see ``token_bucket``).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote, urlparse

from identity_core.cache import BoundedCache
from identity_core.database.files import FileLock
from identity_core.throttle.memory import BucketDebit, Decision, TokenBucketStorage

_NANOSECONDS = 1_000_000_000

_TABLE = "CREATE TABLE IF NOT EXISTS bucket (key TEXT PRIMARY KEY, full_at INTEGER NOT NULL) WITHOUT ROWID"
# now() is read inside the statement, which then has the lock: a time from before a wait for the lock would be older
# than rows of other processes. "excluded" is the row that would have been inserted, so it contains that time. A new
# bucket is full, so its first request always passes. The max of two arguments is SQLite's scalar function.
_SPEND = """
INSERT INTO bucket (key, full_at) VALUES (:key, now() + :cost)
ON CONFLICT (key) DO UPDATE SET full_at = max(full_at, excluded.full_at - :cost) + :cost
WHERE max(full_at, excluded.full_at - :cost) + :cost <= excluded.full_at - :cost + :capacity
RETURNING full_at
"""
_EMPTY = "UPDATE bucket SET full_at = now() + :capacity WHERE key = :key AND full_at > now() + :capacity"
_LOOK = "SELECT full_at FROM bucket WHERE key = :key"
_PAGE = "SELECT key FROM bucket WHERE key > :after ORDER BY key LIMIT :size"
_SWEEP = "DELETE FROM bucket WHERE key > :after AND key <= :last AND full_at <= now()"

# Every 32 decisions, which add at most 32 rows, 64 rows are checked: the file cannot grow much beyond the live
# buckets.
_SWEEP_EVERY = 32
_SWEEP_PAGE = 64
_REFUSED_KEPT = 4_096


class TokenBucketSqliteStorage(TokenBucketStorage):
    """Buckets in a file, one row per key. ``uri`` is ``async+tokenbucket+sql:///path``. Safe for threads and
    processes.

    A lock that another process holds for longer than ``busy_seconds`` is an ``sqlite3.OperationalError``.
    """

    STORAGE_SCHEME: list[str] | None = ["async+tokenbucket+sql"]  # noqa: RUF012 - so declared by limits

    def __init__(
        self,
        uri: str,
        wrap_exceptions: bool = False,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        busy_seconds: float = 0.04,
    ) -> None:
        super().__init__(uri, wrap_exceptions)
        self._monotonic = monotonic
        self._lock = threading.Lock()
        # The times at which empty buckets will be full: floods are refused without reading the file.
        self._refused: BoundedCache[str, int] = BoundedCache(_REFUSED_KEPT)
        self._swept_to = ""
        self._until_sweep = _SWEEP_EVERY
        path = unquote(urlparse(uri).path)
        # The keys of buckets are addresses of people and names of callers.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600))
        self._connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        # The workers start together, and SQLite does not wait for the lock that a change to WAL needs.
        setting_up = FileLock(Path(f"{path}-setup"))
        setting_up.acquire()
        try:
            for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = OFF", _TABLE):
                self._connection.execute(statement)
        finally:
            setting_up.close()
        self._connection.create_function("now", 0, self._now)
        self._connection.execute(f"PRAGMA busy_timeout = {int(busy_seconds * 1000)}")

    @classmethod
    def open(cls, path: Path, *, monotonic: Callable[[], float]) -> TokenBucketSqliteStorage:
        """Return the storage in the file ``path``, which is created if it is missing."""
        return cls(f"async+tokenbucket+sql://{path.absolute().as_uri().removeprefix('file://')}", monotonic=monotonic)

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return the errors of the file: locked, full, unreadable."""
        return sqlite3.Error

    async def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        """See ``TokenBucketStorage``. Never suspends."""
        return self.spend_at_once(key, rate, burst, cost)

    def spend_at_once(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        spending = BucketDebit.from_rate(rate, burst, cost, _NANOSECONDS)
        # Other processes can only have taken more tokens since: an early request cannot have become payable.
        debt = (self._refused.get(key) or 0) - self._now()
        if cost and spending.capacity - spending.cost < debt <= spending.capacity:
            return spending.refused(debt)
        execute = self._connection.execute
        with self._lock:
            parameters = {"key": key, "cost": spending.cost, "capacity": spending.capacity}
            if cost:
                row = execute(_SPEND, parameters).fetchone()
                if row is not None:
                    self._sweep()
                    return spending.allowed(min(max(row[0] - self._now(), 0), spending.capacity))
            row = execute(_LOOK, parameters).fetchone()
            debt = 0 if row is None else max(row[0] - self._now(), 0)
            if debt > spending.capacity:
                # Such a debt is impossible: the clock has restarted. The bucket is empty from now on.
                execute(_EMPTY, parameters)
                debt = spending.capacity
            elif cost and row is not None:
                self._refused.store(key, row[0])
        return spending.refused(debt) if cost else spending.allowed(debt)

    def _now(self) -> int:
        return int(self._monotonic() * _NANOSECONDS)

    def _sweep(self) -> None:
        """Delete full buckets, a page of keys at a time, from the start again after the last."""
        self._until_sweep -= 1
        if self._until_sweep:
            return
        self._until_sweep = _SWEEP_EVERY
        page = self._connection.execute(_PAGE, {"after": self._swept_to, "size": _SWEEP_PAGE}).fetchall()
        if page:
            (last,) = page[-1]
            self._connection.execute(_SWEEP, {"after": self._swept_to, "last": last})
        self._swept_to = last if len(page) == _SWEEP_PAGE else ""

    async def check(self) -> bool:
        """Read and write the file. Raises ``sqlite3.Error``: when that fails."""
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("ROLLBACK")
        return True

    async def reset(self) -> int | None:
        """Delete every bucket, and return their number."""
        with self._lock:
            self._refused.clear()
            return self._connection.execute("DELETE FROM bucket").rowcount

    async def clear(self, key: str) -> None:
        """Delete one bucket: it is full again."""
        with self._lock:
            self._refused.forget(key)
            self._connection.execute("DELETE FROM bucket WHERE key = :key", {"key": key})

    async def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()
