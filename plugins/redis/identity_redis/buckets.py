"""Token buckets in Redis, for limits that several machines share.

A script decides and spends in one round trip, under the server's clock, so the clocks of the machines do not matter. A
key expires when its bucket is full.

The client's defaults are replaced: they wait for ever on a frozen server and repeat what failed. Needs the extra
``identity-service[redis]``.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import NoScriptError, RedisError

from identity_core.throttle.memory import BucketDebit, Decision, TokenBucketStorage

ANSWER_SECONDS = 0.05
# A connection may need a TLS handshake across a continent. A decision does not wait that long (``fallback``).
CONNECT_SECONDS = 2.0
_PREFIX = "identity:bucket:"
_MICROSECONDS = 1_000_000

# ARGV: capacity and cost in microseconds. Answers whether it passed, and how far the bucket is from full.
_SPEND = """
local capacity, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local full_at = tonumber(redis.call('GET', KEYS[1]) or 0)
local debt = math.max(full_at - now, 0)
if debt > capacity then
  -- No client can owe that much: the clock has stepped back. The bucket is empty from now on.
  debt = capacity
  redis.call('SET', KEYS[1], string.format('%.0f', now + debt), 'PX', math.ceil(debt / 1000) + 1)
end
if debt + cost > capacity then return {0, debt} end
debt = debt + cost
if cost > 0 then
  redis.call('SET', KEYS[1], string.format('%.0f', now + debt), 'PX', math.ceil(debt / 1000) + 1)
end
return {1, debt}
"""


class _Waiting(NamedTuple):
    """A decision that a caller waits for."""

    key: str
    capacity: int
    cost: int
    answer: asyncio.Future[tuple[int, int]]


class TokenBucketRedisStorage(TokenBucketStorage):
    """One key a bucket. ``uri`` is ``async+tokenbucket+redis://…``, ``…+rediss://…`` or ``…+unix://…``.

    Decisions that are asked for while a round trip is under way make up the next one, over one connection: under load
    that is cheaper than many connections, and none has to be opened in a hurry. Belongs to one event loop.
    """

    STORAGE_SCHEME: list[str] | None = [  # noqa: RUF012 - so declared by limits
        "async+tokenbucket+redis",
        "async+tokenbucket+rediss",
        "async+tokenbucket+unix",
    ]

    def __init__(self, uri: str, wrap_exceptions: bool = False) -> None:
        super().__init__(uri, wrap_exceptions)
        self._client = redis.asyncio.Redis.from_url(
            uri.removeprefix("async+tokenbucket+"),
            socket_timeout=ANSWER_SECONDS,
            socket_connect_timeout=CONNECT_SECONDS,
            retry=Retry(NoBackoff(), 0),
            protocol=2,
        )
        self._digest: str | None = None
        self._waiting: list[_Waiting] = []
        self._sender: asyncio.Task[None] | None = None

    @property
    def base_exceptions(self) -> tuple[type[Exception], ...]:
        """The faults of the client and of the connection."""
        return (RedisError, OSError)

    async def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        """See ``TokenBucketStorage``. A caller who stops waiting has spent the token all the same."""
        spending = BucketDebit.from_rate(rate, burst, cost, _MICROSECONDS)
        answer: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Waiting(_PREFIX + key, spending.capacity, spending.cost, answer))
        if self._sender is None:
            self._sender = asyncio.create_task(self._send_all())
        passed, debt = await answer
        return spending.allowed(debt) if passed else spending.refused(debt)

    async def _send_all(self) -> None:
        """Send what waits, a batch a round trip, until nothing does."""
        batch: list[_Waiting] = []
        try:
            while self._waiting:
                batch, self._waiting = self._waiting, []
                try:
                    await self._send(batch)
                except (RedisError, OSError) as error:
                    for each in batch:
                        if not each.answer.done():
                            each.answer.set_exception(type(error)(*error.args))
        finally:
            # Nothing is left here but when the storage is closed in the middle.
            for each in (*batch, *self._waiting):
                each.answer.cancel()
            self._sender = None

    async def _send(self, batch: list[_Waiting]) -> None:
        while batch:
            if self._digest is None:
                self._digest = await self._client.script_load(_SPEND)
            async with self._client.pipeline(transaction=False) as pipeline:
                for each in batch:
                    pipeline.evalsha(self._digest, 1, each.key, each.capacity, each.cost)
                results = await pipeline.execute(raise_on_error=False)
            unknown = []
            for each, result in zip(batch, results, strict=True):
                if isinstance(result, NoScriptError):
                    unknown.append(each)
                elif each.answer.done():
                    continue
                elif isinstance(result, Exception):
                    each.answer.set_exception(result)
                else:
                    each.answer.set_result((result[0], result[1]))
            if unknown:
                # The server was restarted or its scripts were flushed: these were not decided, and are sent again.
                self._digest = None
            batch = unknown

    async def check(self) -> bool:
        """Query the server. Raises ``RedisError``."""
        return bool(await self._client.ping())

    async def reset(self) -> int | None:
        """Delete every bucket and return their number."""
        forgotten = 0
        async for key in self._client.scan_iter(match=f"{_PREFIX}*", count=1000):
            forgotten += await self._client.delete(key)
        return forgotten

    async def clear(self, key: str) -> None:
        """Forget one bucket: it is full again."""
        await self._client.delete(_PREFIX + key)

    async def close(self) -> None:
        """Close the connections; what still waits is abandoned."""
        if self._sender is not None:
            self._sender.cancel()
            await asyncio.wait([self._sender])
        # Of a sender that had not begun.
        for each in self._waiting:
            each.answer.cancel()
        await self._client.aclose(close_connection_pool=True)
