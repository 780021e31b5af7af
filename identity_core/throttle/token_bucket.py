"""The token bucket of this service, as a strategy of the ``limits`` library.

``limits`` 5.8 has windows but no bucket of "a sustained rate and a burst". The names follow the addition proposed there
(a mixin ``TokenBucketSupport`` with ``acquire_token_bucket``, the strategy ``token-bucket``), so that ours can give way
to it. Everything is in the asynchronous half of the library, because the edge is; a store in this process answers
without suspending.

The rule is the generic cell rate algorithm (ATM Forum TM 4.0, "virtual scheduling"): one timestamp a key, the moment
at which the bucket will be full again. A request of cost c may pass if adding c intervals to it leaves it at most
``burst`` intervals ahead of now; a refusal spends nothing. In any t seconds a key passes at most burst + rate * t.

A stored time further ahead than anybody can owe is cut down to an empty bucket, and stored so. That is what makes a
clock that jumps harmless: a step back empties the bucket at most, for as long as it takes to fill; a step forward fills
it. For the same reason a bucket's key must name its limits where one caller may have several.

Left out: fixed and sliding windows, which these storages refuse to count.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from math import ceil
from typing import Any, NamedTuple, cast

from limits.aio.storage.base import Storage
from limits.aio.strategies import STRATEGIES, RateLimiter
from limits.limits import RateLimitItem, RateLimitItemPerSecond
from limits.util import WindowStats


class Decision(NamedTuple):
    """What a bucket answers. ``remaining`` is in whole tokens; ``retry_after_seconds`` is 0 when allowed, else the time
    after which the same request would pass; ``reset_after_seconds`` is the time until the bucket is full."""

    allowed: bool
    remaining: int
    retry_after_seconds: float
    reset_after_seconds: float


class BucketDebit(NamedTuple):
    """A request in whole ticks of a store's clock: the ``interval`` between two tokens, the ``capacity`` of the bucket,
    the ``cost``; and how many ticks a second has."""

    interval: int
    capacity: int
    cost: int
    ticks: int

    @classmethod
    def of(cls, rate: float, burst: int, cost: int, ticks: int) -> BucketDebit:
        """``rate`` in tokens a second, above 0; ``0 <= cost <= burst``, where 0 only looks. Raises ``ValueError``."""
        if not (rate > 0 and 0 <= cost <= burst and burst >= 1):
            raise ValueError(f"a bucket of rate {rate} and burst {burst} cannot spend {cost}")
        # The interval is rounded up: rounding may make the limit stricter, never looser.
        interval = ceil(ticks / rate)
        return cls(interval, burst * interval, cost * interval, ticks)

    def allowed(self, debt: int) -> Decision:
        """The decision for a request that passed and left the bucket ``debt`` ticks from full."""
        return Decision(True, (self.capacity - debt) // self.interval, 0.0, debt / self.ticks)

    def refused(self, debt: int) -> Decision:
        """The decision for a request that found the bucket ``debt`` ticks from full."""
        # The debt may have been read a moment after the refusal and look payable: the refusal stands all the same.
        wait = max(debt + self.cost - self.capacity, 1)
        return Decision(False, (self.capacity - debt) // self.interval, wait / self.ticks, debt / self.ticks)


class TokenBucketSupport(ABC):
    """An asynchronous ``limits`` storage that keeps token buckets."""

    @abstractmethod
    def acquire_token_bucket(self, key: str, rate: float, burst: int, cost: int = 1) -> Coroutine[Any, Any, Decision]:
        """Spends ``cost`` tokens of the bucket ``key``, which holds ``burst`` and gains ``rate`` a second.

        Cost 0 only looks. Raises ``ValueError`` for a cost above the burst, which could never pass."""
        raise NotImplementedError

    def spend_at_once(self, key: str, rate: float, burst: int, cost: int = 1) -> Decision | None:
        """The same without waiting, where the buckets are in this process or on this machine; None elsewhere, and nothing is spent."""
        return None


class TokenBucketStorage(Storage, TokenBucketSupport):
    """A ``limits`` storage that keeps token buckets and nothing else: it refuses to count windows. ``wrap_exceptions`` of the library
    does not reach ``acquire_token_bucket``, which raises ``base_exceptions`` as they are."""

    STORAGE_SCHEME: list[str] | None = None

    async def incr(self, key: str, expiry: int, amount: int = 1) -> int:
        """Refused."""
        raise NotImplementedError("a token bucket storage does not count windows")

    async def get(self, key: str) -> int:
        """Refused."""
        raise NotImplementedError("a token bucket storage does not count windows")

    async def get_expiry(self, key: str) -> float:
        """Refused."""
        raise NotImplementedError("a token bucket storage does not count windows")

    async def close(self) -> None:
        """Gives back connections and files."""


class TokenBucketItem(RateLimitItemPerSecond):
    """``amount`` requests every ``multiples`` seconds, and up to ``burst`` at once."""

    __slots__ = ["burst"]

    def __init__(self, amount: int, burst: int, multiples: int = 1, namespace: str = "LIMITER") -> None:
        super().__init__(amount, multiples, namespace)
        self.burst = burst

    def key_for(self, *identifiers: bytes | str | int | float) -> str:
        """The key of the bucket, which names rate and burst: a changed limit is a new bucket."""
        return f"{super().key_for(*identifiers)}/{self.burst}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TokenBucketItem) and super().__eq__(other) and self.burst == other.burst

    def __hash__(self) -> int:
        return hash((super().__hash__(), self.burst))


class TokenBucketRateLimiter(RateLimiter):
    """The strategy ``token-bucket`` of ``limits``."""

    def __init__(self, storage: Storage) -> None:
        if not isinstance(storage, TokenBucketSupport):
            raise NotImplementedError(f"the storage {type(storage).__name__} keeps no token buckets")
        super().__init__(storage)
        self._buckets: TokenBucketSupport = storage

    async def acquire(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> Decision:
        """As ``hit``, with all that header fields need, in one round trip."""
        rate, burst = _rate_and_burst(item)
        return await self._buckets.acquire_token_bucket(item.key_for(*identifiers), rate, burst, cost)

    async def hit(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        """Spends ``cost`` tokens if they are there, and says whether they were."""
        return cost <= _rate_and_burst(item)[1] and (await self.acquire(item, *identifiers, cost=cost)).allowed

    async def test(self, item: RateLimitItem, *identifiers: str, cost: int = 1) -> bool:
        """Whether ``hit`` would pass now."""
        return cost <= (await self.acquire(item, *identifiers, cost=0)).remaining

    async def get_window_stats(self, item: RateLimitItem, *identifiers: str) -> WindowStats:
        """When the bucket is full again (seconds since the epoch), and what is in it now."""
        seen = await self.acquire(item, *identifiers, cost=0)
        return WindowStats(time.time() + seen.reset_after_seconds, seen.remaining)


def _rate_and_burst(item: RateLimitItem) -> tuple[float, int]:
    # An item without a burst may spend its whole amount at once, which is what windows allow too.
    return item.amount / item.get_expiry(), cast(int, getattr(item, "burst", item.amount))


STRATEGIES["token-bucket"] = TokenBucketRateLimiter  # type: ignore[assignment]
