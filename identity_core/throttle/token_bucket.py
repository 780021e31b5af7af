"""The token bucket of this service, as storages of the ``limits`` library; ``policy`` has the strategy.

``limits`` 5.8 has windows but no bucket of "a sustained rate and a burst". The names follow the addition proposed there
(a mixin ``TokenBucketSupport`` with ``acquire_token_bucket``), so that ours can give way to it. Nothing is added to the library's own
table of strategies. Everything is in the asynchronous half of the library, because the edge is; a store in this process answers
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

from abc import ABC, abstractmethod
from collections.abc import Coroutine
from math import ceil
from typing import Any, NamedTuple

from limits.aio.storage.base import Storage


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
