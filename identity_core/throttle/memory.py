"""The rule of token buckets, and buckets in this process's memory: for one worker, and as the fallback of a shared
store.

Time is a monotonic count that is passed in, so that no clock step affects the limit. A full bucket has no
information, so it is deleted when newer keys come. Beyond ``max_keys`` the bucket that was unused for longest is
deleted even if it owes tokens. There is no timer and no thread.
"""

from __future__ import annotations

import threading
import time
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from math import ceil
from typing import Any, NamedTuple, cast

from limits.aio.storage.base import Storage


class Decision(NamedTuple):
    """The answer of a bucket. ``remaining``: whole tokens. ``retry_after_seconds``: 0 when allowed, else the time
    after which the same request would pass. ``reset_after_seconds``: the time until the bucket is full."""

    allowed: bool
    remaining: int
    retry_after_seconds: float
    reset_after_seconds: float


class BucketDebit(NamedTuple):
    """A request in whole ticks of a store's clock: the ``interval`` between two tokens, the ``capacity`` of the
    bucket, the ``cost``, and the number of ticks per second."""

    interval: int
    capacity: int
    cost: int
    ticks: int

    @classmethod
    def from_rate(cls, rate: float, burst: int, cost: int, ticks: int) -> BucketDebit:
        """Return the debit of ``rate`` in tokens per second, above 0, and ``0 <= cost <= burst``, where cost 0 only
        reads the bucket.

        Raises ``ValueError``: for other values.
        """
        if not (rate > 0 and 0 <= cost <= burst and burst >= 1):
            raise ValueError(f"a bucket of rate {rate} and burst {burst} cannot spend {cost}")
        # The interval is rounded up: rounding may make the limit stricter, never looser.
        interval = ceil(ticks / rate)
        return cls(interval, burst * interval, cost * interval, ticks)

    def allowed(self, debt: int) -> Decision:
        """Return the decision for an allowed request that left the bucket ``debt`` ticks from full."""
        return Decision(True, (self.capacity - debt) // self.interval, 0.0, debt / self.ticks)

    def refused(self, debt: int) -> Decision:
        """Return the decision for a refused request that found the bucket ``debt`` ticks from full."""
        # The debt may have been read a moment after the refusal and look payable: the request is refused all the
        # same.
        wait = max(debt + self.cost - self.capacity, 1)
        return Decision(False, (self.capacity - debt) // self.interval, wait / self.ticks, debt / self.ticks)


class TokenBucketStorage(Storage):
    """A ``limits`` storage of token buckets only: it refuses to count windows. ``wrap_exceptions`` of the library
    does not affect ``acquire_token_bucket``, which raises ``base_exceptions`` unchanged.

    ``degraded``: whether a store that processes share is out of reach; None if they share none. ``local_decisions``:
    the number of decisions without it."""

    STORAGE_SCHEME: list[str] | None = None
    degraded = cast("bool | None", None)
    local_decisions = 0

    @abstractmethod
    def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Coroutine[Any, Any, Decision]:
        """Take ``cost`` tokens from the bucket ``key``, which contains up to ``burst`` and gains ``rate`` per second.

        Cost 0 only reads the bucket. Raises ``ValueError``: for a cost above the burst, which could never pass.
        """
        raise NotImplementedError

    def spend_at_once(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision | None:
        """Take tokens without waiting, if the buckets are in this process or on this machine. Return None otherwise,
        and take none."""
        return None

    async def _refuse(self, *given: Any, **named: Any) -> Any:
        """Raise: windows are not supported."""
        raise NotImplementedError("a token bucket storage does not count windows")

    incr = get = get_expiry = _refuse

    async def close(self) -> None:
        """Close connections and files."""


# Below the resolution of any rate; it absorbs the rounding of a sum of ``burst`` floating-point intervals.
_EPSILON_SECONDS = 1e-9


class TokenBucketMemoryStorage(TokenBucketStorage):
    """Buckets in memory, one float per key: the time at which its bucket is full. Safe for threads; one million keys
    take under 200 MB."""

    STORAGE_SCHEME: list[str] | None = ["async+tokenbucket+memory"]  # noqa: RUF012 - so declared by limits

    def __init__(
        self,
        uri: str | None = None,
        wrap_exceptions: bool = False,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        max_keys: int = 500_000,
    ) -> None:
        super().__init__(uri, wrap_exceptions)
        self._monotonic = monotonic
        self._max_keys = max_keys
        self._full_at: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def base_exceptions(self) -> type[Exception]:
        """Return the errors that ``limits`` would wrap; nothing here fails."""
        return MemoryError

    async def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        """See ``TokenBucketStorage``. Never suspends."""
        return self.spend_at_once(key, rate, burst, cost)

    def spend_at_once(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision:
        if not (rate > 0 and 0 <= cost <= burst and burst >= 1):
            raise ValueError(f"a bucket of rate {rate} and burst {burst} cannot spend {cost}")
        interval = 1.0 / rate
        capacity = burst * interval
        with self._lock:
            now = self._monotonic()
            full_at = self._full_at.get(key)
            if full_at is None:
                debt = 0.0
            else:
                # Also when it is refused: a flood of other keys must not evict a hot key.
                self._full_at.move_to_end(key)
                debt = max(full_at - now, 0.0)
            if debt > capacity + _EPSILON_SECONDS:
                # Such a debt is impossible: the clock has stepped back. The bucket is empty from now on.
                debt = capacity
                self._full_at[key] = now + capacity
            after = debt + cost * interval
            if after > capacity + _EPSILON_SECONDS:
                return Decision(False, int((capacity - debt + _EPSILON_SECONDS) * rate), after - capacity, debt)
            if cost:
                self._full_at[key] = now + after
                if full_at is None:
                    self._make_room(now)
        return Decision(True, int((capacity - after + _EPSILON_SECONDS) * rate), 0.0, after)

    def _make_room(self, now: float) -> None:
        """Delete up to two full buckets, so that the table shrinks faster than it can grow."""
        entries = self._full_at
        for _ in range(2):
            oldest = next(iter(entries))
            if entries[oldest] > now and len(entries) <= self._max_keys:
                return
            del entries[oldest]

    async def check(self) -> bool:
        """Return whether the storage works: always."""
        return True

    async def reset(self) -> int | None:
        """Delete every bucket, and return their number."""
        with self._lock:
            forgotten = len(self._full_at)
            self._full_at.clear()
        return forgotten

    async def clear(self, key: str) -> None:
        """Delete one bucket: it is full again."""
        with self._lock:
            self._full_at.pop(key, None)
