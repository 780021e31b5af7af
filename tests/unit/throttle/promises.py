"""What every storage of token buckets promises. Subclassed by the tests of each."""

from __future__ import annotations

import asyncio
import math

import pytest


class Ticking:
    """A monotonic clock that a test moves."""

    def __init__(self, now: float = 1_000.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def run(scenario):
    return asyncio.run(scenario)


class BucketPromises:
    """``make`` is a fixture that gives a function without arguments, to be called in the event loop that uses the
    storage. The rates are so low that the time of a test run adds no token."""

    SLOW = 0.001

    def test_a_full_bucket_gives_its_burst_and_no_more(self, make):
        async def scenario():
            storage = make()
            decisions = [await storage.acquire_token_bucket("a", self.SLOW, 3) for _ in range(5)]
            await storage.close()
            return decisions

        decisions = run(scenario())
        assert [each.allowed for each in decisions] == [True, True, True, False, False]
        assert [each.remaining for each in decisions] == [2, 1, 0, 0, 0]
        assert [each.retry_after_seconds for each in decisions[:3]] == [0, 0, 0]
        for each in decisions[3:]:
            assert 990 < each.retry_after_seconds <= 1_000
            assert 2_990 < each.reset_after_seconds <= 3_000

    def test_keys_are_apart(self, make):
        async def scenario():
            storage = make()
            for _ in range(3):
                await storage.acquire_token_bucket("a", self.SLOW, 1)
            other = await storage.acquire_token_bucket("b", self.SLOW, 1)
            await storage.close()
            return other

        assert run(scenario()).allowed

    def test_cost(self, make):
        async def scenario():
            storage = make()
            answers = [await storage.acquire_token_bucket("a", self.SLOW, 10, cost) for cost in (4, 7, 6, 1)]
            await storage.close()
            return [(each.allowed, each.remaining) for each in answers]

        assert run(scenario()) == [(True, 6), (False, 6), (True, 0), (False, 0)]

    def test_looking_spends_nothing(self, make):
        async def scenario():
            storage = make()
            looks = [await storage.acquire_token_bucket("a", self.SLOW, 2, 0) for _ in range(3)]
            await storage.acquire_token_bucket("a", self.SLOW, 2)
            looks.append(await storage.acquire_token_bucket("a", self.SLOW, 2, 0))
            await storage.close()
            return looks

        looks = run(scenario())
        assert [each.remaining for each in looks] == [2, 2, 2, 1]
        assert all(each.allowed for each in looks)

    @pytest.mark.parametrize(
        ("rate", "burst", "cost"),
        [(0, 1, 1), (-1, 1, 1), (math.nan, 1, 1), (1, 0, 0), (1, 1, 2), (1, 1, -1)],
    )
    def test_impossible_request_is_the_callers_error(self, make, rate, burst, cost):
        async def scenario():
            storage = make()
            try:
                await storage.acquire_token_bucket("a", rate, burst, cost)
            finally:
                await storage.close()

        with pytest.raises(ValueError):
            run(scenario())

    def test_a_lowered_burst_counts_at_once(self, make):
        async def scenario():
            storage = make()
            for _ in range(50):
                await storage.acquire_token_bucket("a", self.SLOW, 100)
            small = await storage.acquire_token_bucket("a", self.SLOW, 2)
            await storage.close()
            return small

        small = run(scenario())
        assert not small.allowed
        # Not the debt of 50 tokens: an empty bucket of the new size, which has its first token after one interval.
        assert small.retry_after_seconds <= 1_000

    def test_forgetting(self, make):
        async def scenario():
            storage = make()
            for key in ("a", "b"):
                await storage.acquire_token_bucket(key, self.SLOW, 1)
            await storage.clear("a")
            cleared = [(await storage.acquire_token_bucket(key, self.SLOW, 1, 0)).remaining for key in ("a", "b")]
            await storage.reset()
            after = (await storage.acquire_token_bucket("b", self.SLOW, 1, 0)).remaining
            assert await storage.check()
            await storage.close()
            return cleared, after

        assert run(scenario()) == ([1, 0], 1)

    @pytest.mark.parametrize("key", ["", "é ключ 🔑", "a" * 2_000, "a'b\"c%s:d\\", "a b\r\n"])
    def test_any_text_is_a_key(self, make, key):
        async def scenario():
            storage = make()
            answers = [(await storage.acquire_token_bucket(key, self.SLOW, 1)).allowed for _ in range(2)]
            await storage.close()
            return answers

        assert run(scenario()) == [True, False]

    def test_many_at_once(self, make):
        async def scenario():
            storage = make()
            answers = await asyncio.gather(*(storage.acquire_token_bucket("a", self.SLOW, 20) for _ in range(100)))
            await storage.close()
            return sum(each.allowed for each in answers)

        assert run(scenario()) == 20
