from __future__ import annotations

import subprocess
import sys
import time

import pytest
from limits import RateLimitItemPerMinute, RateLimitItemPerSecond
from limits.aio.storage import MemoryStorage
from limits.storage import storage_from_string

from identity_core.throttle.memory import BucketDebit, TokenBucketMemoryStorage
from identity_core.throttle.policy import TokenBucketRateLimiter
from tests.unit.throttle.promises import Ticking, run


def limiter() -> TokenBucketRateLimiter:
    return TokenBucketRateLimiter(TokenBucketMemoryStorage(monotonic=Ticking()))


def test_limits_finds_the_storage_and_keeps_its_strategies():
    program = "from limits.aio.strategies import STRATEGIES as s; old = dict(s); import identity_core.bootstrap.app; assert s == old"
    subprocess.run([sys.executable, "-c", program], check=True)
    assert isinstance(storage_from_string("async+tokenbucket+memory://"), TokenBucketMemoryStorage)


def test_hit_test_and_stats_agree():
    async def scenario():
        bucket, item = limiter(), RateLimitItemPerSecond(3, 3_000)
        assert await bucket.test(item, "a", cost=3)
        assert [await bucket.hit(item, "a") for _ in range(4)] == [True, True, True, False]
        assert not await bucket.test(item, "a")
        assert (await bucket.get_window_stats(item, "a")).remaining == 0
        assert (await bucket.get_window_stats(item, "b")).remaining == 3
        await bucket.clear(item, "a")
        assert await bucket.hit(item, "a", cost=3)
        assert not await bucket.hit(item, "a", cost=4)

    run(scenario())


def test_an_item_without_a_burst_may_spend_its_amount_at_once():
    async def scenario():
        bucket, item = limiter(), RateLimitItemPerMinute(2)
        return [await bucket.hit(item, "a") for _ in range(3)]

    assert run(scenario()) == [True, True, False]


def test_window_stats_tell_when_the_bucket_is_full():
    async def scenario():
        bucket, item = limiter(), RateLimitItemPerMinute(60)
        assert (await bucket.spend("a", 1.0, 3)).remaining == 2
        assert await bucket.hit(item, "a", cost=2)
        seen = await bucket.get_window_stats(item, "a")
        return seen.remaining, seen.reset_time - time.time()

    remaining, seconds = run(scenario())
    assert remaining == 58
    assert 1 < seconds <= 2.5


def test_times_are_those_until_a_token_and_until_full():
    spending = BucketDebit.from_rate(2.0, 3, 1, 1_000)
    assert spending == (500, 1_500, 500, 1_000)
    assert spending.allowed(500) == (True, 2, 0.0, 0.5)
    assert spending.allowed(1_001) == (True, 0, 0.0, 1.001)
    assert spending.refused(1_500) == (False, 0, 0.5, 1.5)
    assert spending.refused(1_001) == (False, 0, 0.001, 1.001)
    # Read a moment later it looks payable.
    assert spending.refused(1_000) == (False, 1, 0.001, 1.0)
    assert BucketDebit.from_rate(0.5, 1, 0, 1_000).cost == 0


def test_a_storage_without_buckets_is_refused():
    with pytest.raises(NotImplementedError, match="MemoryStorage"):
        TokenBucketRateLimiter(MemoryStorage())


@pytest.mark.parametrize("count", ["incr", "get", "get_expiry"])
def test_windows_are_refused(count):
    async def scenario():
        storage = TokenBucketMemoryStorage(monotonic=Ticking())
        await getattr(storage, count)(*(("a", 1) if count == "incr" else ("a",)))

    with pytest.raises(NotImplementedError):
        run(scenario())


def test_rounding_makes_a_limit_stricter_never_looser():
    for rate in (3.0, 7.0, 0.3, 30.0, 999_983.0, 3e6):
        spending = BucketDebit.from_rate(rate, 10, 1, 1_000_000)
        assert spending.interval >= 1_000_000 / rate
