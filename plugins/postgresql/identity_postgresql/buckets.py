"""Token buckets in PostgreSQL, for limits that several machines share when there is no Redis.

One statement decides and spends, each in a transaction of its own: a row lock is held for one decision only, so no two
processes can wait for each other, as they could in the shared transactions of ``database``. The clock is the server's.
The table is not logged: after a crash of the server every bucket is full, and that is all. Needs the extra
``identity-service[postgresql]``.
"""

from __future__ import annotations

import asyncio
from typing import Any

import psycopg

from identity_core.throttle.memory import BucketDebit, Decision, TokenBucketStorage

_MICROSECONDS = 1_000_000
_NOW = "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
# Both statements are one transaction. The lock comes first, because IF NOT EXISTS races with itself.
_TABLE = """
SELECT pg_advisory_xact_lock(hashtext('identity throttle_buckets'));
CREATE UNLOGGED TABLE IF NOT EXISTS throttle_buckets (key text PRIMARY KEY, full_at bigint NOT NULL)
WITH (fillfactor = 50)
"""
# "excluded" is the row that would have been inserted, so its full_at tells what the time was.
_BEGIN = "excluded.full_at - %(cost)s"
_AFTER = f"greatest(bucket.full_at, {_BEGIN}) + %(cost)s"
# The second half answers for a refusal. It may not see a row that was inserted in this very moment: then no row comes.
_SPEND = f"""
WITH spent AS (
  INSERT INTO throttle_buckets AS bucket (key, full_at) VALUES (%(key)s, {_NOW} + %(cost)s)
  ON CONFLICT (key) DO UPDATE SET full_at = {_AFTER} WHERE {_AFTER} <= {_BEGIN} + %(capacity)s
  RETURNING full_at
)
SELECT true, full_at - {_NOW} FROM spent
UNION ALL
SELECT false, full_at - {_NOW} FROM throttle_buckets WHERE key = %(key)s AND NOT EXISTS (SELECT FROM spent)
"""  # noqa: S608 - made of constants
_LOOK = f"SELECT true, full_at - {_NOW} FROM throttle_buckets WHERE key = %(key)s"  # noqa: S608
_EMPTY = f"""
UPDATE throttle_buckets SET full_at = {_NOW} + %(capacity)s WHERE key = %(key)s AND full_at > {_NOW} + %(capacity)s
"""  # noqa: S608
_SWEEP = f"""
DELETE FROM throttle_buckets WHERE ctid IN
(SELECT ctid FROM throttle_buckets WHERE full_at <= {_NOW} LIMIT 10000 FOR UPDATE SKIP LOCKED)
"""  # noqa: S608
_SWEEP_EVERY = 4096


class TokenBucketPostgresqlStorage(TokenBucketStorage):
    """One row a key. ``uri`` is ``async+tokenbucket+postgresql://…``. Belongs to one event loop.

    A statement without a waiting caller keeps its connection until the server has answered, so a server that
    hangs is asked ``connections`` times at most.
    """

    STORAGE_SCHEME: list[str] | None = [  # noqa: RUF012 - so declared by limits
        "async+tokenbucket+postgresql",
        "async+tokenbucket+postgres",
    ]

    def __init__(self, uri: str, wrap_exceptions: bool = False, *, connections: int = 4) -> None:
        super().__init__(uri, wrap_exceptions)
        self._url = uri.removeprefix("async+tokenbucket+")
        # A place without a connection is None; the task that takes it connects. Last in, first out: who does not need
        # several connections does not open them.
        self._places: asyncio.Queue[psycopg.AsyncConnection[Any] | None] = asyncio.LifoQueue()
        for _ in range(connections):
            self._places.put_nowait(None)
        self._running: set[asyncio.Task[Any]] = set()
        self._until_sweep = _SWEEP_EVERY

    @property
    def base_exceptions(self) -> type[Exception]:
        """The faults of the server and of the connection."""
        return psycopg.Error

    async def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        spending = BucketDebit.from_rate(rate, burst, cost, _MICROSECONDS)
        parameters = {"key": key, "cost": spending.cost, "capacity": spending.capacity}
        row = await self._ask(_SPEND if cost else _LOOK, parameters)
        self._until_sweep -= 1
        if not self._until_sweep:
            self._until_sweep = _SWEEP_EVERY
            self._start(_SWEEP, {})
        if row is None:
            return spending.refused(spending.capacity) if cost else spending.allowed(0)
        debt = max(row[1], 0)
        if debt > spending.capacity:
            # A debt that large is impossible: the clock has stepped back. The bucket is empty from now on.
            await self._ask(_EMPTY, parameters)
            debt = spending.capacity
        return spending.allowed(debt) if row[0] else spending.refused(debt)

    async def _ask(self, sql: str, parameters: dict[str, Any]) -> Any:
        # Shielded: psycopg answers a cancellation by waiting for the server, and here that is what must not be waited for.
        return await asyncio.shield(self._start(sql, parameters))

    def _start(self, sql: str, parameters: dict[str, Any]) -> asyncio.Task[Any]:
        task = asyncio.create_task(self._run(sql, parameters))
        self._running.add(task)
        task.add_done_callback(self._finished)
        return task

    def _finished(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            # Retrieved here, because it is not retrieved elsewhere if the caller has gone.
            task.exception()

    async def _run(self, sql: str, parameters: dict[str, Any]) -> Any:
        connection = await self._places.get()
        try:
            if connection is None:
                connection = await self._connect()
            cursor = await connection.execute(sql, parameters)
            return await cursor.fetchone() if cursor.description else None
        except BaseException:
            if connection is not None:
                connection.pgconn.finish()
                connection = None
            raise
        finally:
            self._places.put_nowait(connection)

    async def _connect(self) -> psycopg.AsyncConnection[Any]:
        # The operating system gives up on a server that vanished without a word; else its place would be lost for hours.
        connection = await psycopg.AsyncConnection.connect(
            self._url, autocommit=True, connect_timeout=2, tcp_user_timeout=3_000, keepalives_idle=5
        )
        try:
            await connection.execute(_TABLE)
        except BaseException:
            connection.pgconn.finish()
            raise
        connection.prepare_threshold = 0
        return connection

    async def check(self) -> bool:
        """Query the server. Raises ``psycopg.Error``."""
        await self._ask("SELECT 1", {})
        return True

    async def reset(self) -> int | None:
        """Forget every bucket; does not return their number."""
        await self._ask("DELETE FROM throttle_buckets", {})
        return None

    async def clear(self, key: str) -> None:
        """Forget one bucket: it is full again."""
        await self._ask("DELETE FROM throttle_buckets WHERE key = %(key)s", {"key": key})

    async def close(self) -> None:
        """Drop the connections, and with them what is still running."""
        running = list(self._running)
        for task in running:
            task.cancel()
        if running:
            await asyncio.wait(running, timeout=1.0)
        while not self._places.empty():
            connection = self._places.get_nowait()
            if connection is not None:
                connection.pgconn.finish()
