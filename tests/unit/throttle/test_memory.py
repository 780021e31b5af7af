from __future__ import annotations

import math
import tracemalloc
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from identity_core.throttle.memory import TokenBucketMemoryStorage
from tests.unit.throttle.promises import BucketPromises, Ticking, run


class TestPromises(BucketPromises):
    @pytest.fixture
    def make(self):
        return lambda: TokenBucketMemoryStorage(monotonic=Ticking())


def acquire(storage, *arguments):
    """A memory storage never suspends, so its coroutine is through after one step."""
    try:
        storage.acquire_token_bucket(*arguments).send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it suspended")


def test_it_refills_at_its_rate():
    clock = Ticking()
    storage = TokenBucketMemoryStorage(monotonic=clock)
    assert [acquire(storage, "a", 10.0, 2).allowed for _ in range(3)] == [True, True, False]
    clock.now += 0.099
    assert not acquire(storage, "a", 10.0, 2).allowed
    clock.now += 0.001
    assert acquire(storage, "a", 10.0, 2).allowed
    clock.now += 100
    assert [acquire(storage, "a", 10.0, 2).allowed for _ in range(3)] == [True, True, False]


@settings(max_examples=300, deadline=None)
@given(
    rate=st.floats(0.01, 10_000),
    burst=st.integers(1, 500),
    steps=st.lists(st.tuples(st.floats(0, 5), st.integers(1, 50)), max_size=40),
)
def test_never_more_than_burst_and_rate_and_hardly_less(rate, burst, steps):
    clock = Ticking()
    storage = TokenBucketMemoryStorage(monotonic=clock)
    start, allowed, demand = clock.now, 0, 0
    for pause, hits in steps:
        clock.now += pause
        for _ in range(hits):
            demand += 1
            allowed += acquire(storage, "a", rate, burst).allowed
        elapsed = clock.now - start
        assert allowed <= burst + rate * elapsed + 1
    assert allowed >= min(demand, burst)


@settings(max_examples=300, deadline=None)
@given(rate=st.floats(0.01, 10_000), burst=st.integers(1, 500), start=st.floats(0, 1e9))
def test_client_that_waits_as_told_passes(rate, burst, start):
    clock = Ticking(start)
    storage = TokenBucketMemoryStorage(monotonic=clock)
    while (last := acquire(storage, "a", rate, burst)).allowed:
        pass
    # As long as the header says, which is in whole seconds.
    clock.now += math.ceil(last.retry_after_seconds)
    assert acquire(storage, "a", rate, burst).allowed


@settings(max_examples=200, deadline=None)
@given(jumps=st.lists(st.sampled_from([-3_600.0, -1.0, 0.0, 0.05, 1.0, 3_600.0]), min_size=1, max_size=30))
def test_clock_jump_changes_bucket_at_most_once(jumps):
    clock = Ticking(10_000.0)
    storage = TokenBucketMemoryStorage(monotonic=clock)
    for jump in jumps:
        clock.now += jump
        allowed = sum(acquire(storage, "a", 10.0, 5).allowed for _ in range(20))
        assert allowed <= 5
        # Even right after a step back the next token is one interval away, not an hour.
        assert acquire(storage, "a", 10.0, 5, 0).reset_after_seconds <= 0.5 + 1e-9
        clock.now += 0.1
        assert acquire(storage, "a", 10.0, 5).allowed


def test_buckets_that_are_full_again_are_forgotten():
    clock = Ticking()
    storage = TokenBucketMemoryStorage(monotonic=clock)
    for number in range(1_000):
        acquire(storage, f"old {number}", 10.0, 1)
    assert len(storage._full_at) == 1_000
    clock.now += 1
    for number in range(600):
        acquire(storage, f"new {number}", 10.0, 1)
    assert len(storage._full_at) <= 600


def test_the_key_unused_for_longest_makes_room():
    storage = TokenBucketMemoryStorage(monotonic=Ticking(), max_keys=3)
    for key in ("a", "b", "c"):
        acquire(storage, key, 0.001, 2)
    acquire(storage, "a", 0.001, 2)
    acquire(storage, "d", 0.001, 2)
    assert len(storage._full_at) == 3
    assert acquire(storage, "b", 0.001, 2, 0).remaining == 2
    assert acquire(storage, "a", 0.001, 2, 0).remaining == 0


def test_a_hot_key_is_not_pushed_out_by_a_flood_of_others():
    storage = TokenBucketMemoryStorage(monotonic=Ticking(), max_keys=100)
    allowed = 0
    for number in range(5_000):
        allowed += acquire(storage, "hot", 0.001, 10).allowed
        acquire(storage, f"flood {number}", 0.001, 10)
    assert allowed == 10


def test_as_many_keys_as_are_kept_stay_under_200_megabytes():
    kept = TokenBucketMemoryStorage(monotonic=Ticking())._max_keys
    tracemalloc.start()
    try:
        storage = TokenBucketMemoryStorage(monotonic=Ticking())
        for number in range(kept // 10):
            acquire(storage, f"address:2001:db8:{number:x}::/64", 0.001, 1)
        size = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert size * 10 < 200e6


def test_64_threads_share_one_bucket():
    storage = TokenBucketMemoryStorage(monotonic=Ticking())
    counts = [0] * 64

    def hit(index: int) -> None:
        for _ in range(50):
            counts[index] += acquire(storage, "a", 0.001, 100).allowed

    threads = [Thread(target=hit, args=(index,)) for index in range(64)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(counts) == 100


def test_it_answers_without_an_event_loop_of_its_own():
    async def scenario():
        storage = TokenBucketMemoryStorage(monotonic=Ticking())
        return await storage.acquire_token_bucket("a", 1.0, 1)

    assert run(scenario()).allowed
