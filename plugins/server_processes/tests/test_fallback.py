from __future__ import annotations

import asyncio
import logging

import pytest
from identity_server_processes import fallback
from identity_server_processes.fallback import FallbackStorage

from identity_core.throttle.memory import TokenBucketMemoryStorage, TokenBucketStorage
from tests.unit.throttle.promises import Ticking, run


class StoreIsDown(Exception):
    pass


class Shared(TokenBucketStorage):
    """A shared store whose health a test sets."""

    def __init__(self) -> None:
        super().__init__()
        self.health = "well"
        self.asked = 0
        self.closed = False
        self._buckets = TokenBucketMemoryStorage(monotonic=Ticking())

    @property
    def base_exceptions(self):
        return StoreIsDown

    async def acquire_token_bucket(self, key, rate, burst, cost=1):
        self.asked += 1
        await self._be_ill()
        return await self._buckets.acquire_token_bucket(key, rate, burst, cost)

    async def check(self):
        await self._be_ill()
        return True

    async def reset(self):
        return await self._buckets.reset()

    async def clear(self, key):
        await self._buckets.clear(key)

    async def close(self):
        self.closed = True

    async def _be_ill(self):
        if self.health == "down":
            raise StoreIsDown
        if self.health == "frozen":
            await asyncio.Event().wait()


def over(shared, clock=None, processes=1, deadline=0.02) -> FallbackStorage:
    return FallbackStorage(
        shared,
        processes=processes,
        monotonic=clock or Ticking(),
        logger=logging.getLogger("buckets"),
        deadline_seconds=deadline,
    )


async def allowed(storage, times, rate=0.001, burst=10):
    return sum([(await storage.acquire_token_bucket("a", rate, burst)).allowed for _ in range(times)])


@pytest.fixture(autouse=True)
def quick_probes(monkeypatch):
    monkeypatch.setattr(fallback, "PROBE_EVERY_SECONDS", 0.01)


def test_a_store_that_is_well_decides():
    async def scenario():
        shared = Shared()
        storage = over(shared)
        assert await allowed(storage, 20) == 10
        assert (shared.asked, storage.local_decisions, storage.degraded) == (20, 0, False)
        assert await storage.check()
        await storage.close()
        assert shared.closed

    run(scenario())


@pytest.mark.parametrize("illness", ["down", "frozen"])
def test_a_store_that_fails_is_asked_once_and_the_limit_goes_on(illness):
    async def scenario():
        shared = Shared()
        shared.health = illness
        storage = over(shared)
        assert await allowed(storage, 50) == 10
        assert (shared.asked, storage.local_decisions, storage.degraded) == (1, 50, True)
        assert not await storage.check()
        await storage.close()

    run(scenario())


def test_each_process_has_its_share():
    async def scenario():
        shared = Shared()
        shared.health = "down"
        clock = Ticking()
        storage = over(shared, clock, processes=4)
        first = await allowed(storage, 50, rate=100.0, burst=40)
        clock.now += 0.2
        later = await allowed(storage, 50, rate=100.0, burst=40)
        await storage.close()
        return first, later

    assert run(scenario()) == (10, 5)


def test_a_share_is_never_nothing():
    async def scenario():
        shared = Shared()
        shared.health = "down"
        storage = over(shared, processes=64)
        count = await allowed(storage, 5, burst=3)
        await storage.close()
        return count

    assert run(scenario()) == 1


def test_a_store_that_recovers_decides_again():
    async def scenario():
        shared = Shared()
        shared.health = "down"
        storage = over(shared)
        await allowed(storage, 1)
        assert storage.degraded
        shared.health = "frozen"
        await asyncio.sleep(0.05)
        assert storage.degraded
        shared.health = "well"
        while storage.degraded:
            await asyncio.sleep(0.01)
        asked = shared.asked
        await allowed(storage, 3)
        assert shared.asked == asked + 3
        await storage.close()

    run(scenario())


def test_a_store_that_failed_is_left_alone_for_a_while(monkeypatch):
    monkeypatch.setattr(fallback, "PROBE_EVERY_SECONDS", 3_600.0)

    async def scenario():
        shared = Shared()
        shared.health = "down"
        storage = over(shared)
        await allowed(storage, 1)
        shared.health = "well"
        await asyncio.sleep(0.02)
        degraded = storage.degraded
        await storage.close()
        return degraded

    assert run(scenario())


def test_an_outage_is_logged_once_in_ten_seconds(caplog):
    async def scenario():
        shared, clock = Shared(), Ticking()
        storage = over(shared, clock)
        for step in (0.0, 5.0, 4.9, 0.2):
            clock.now += step
            shared.health = "down"
            await allowed(storage, 5)
            shared.health = "well"
            while storage.degraded:
                await asyncio.sleep(0.005)
        await storage.close()

    run(scenario())
    assert [record.getMessage() for record in caplog.records] == [
        "the shared rate limits are out of reach, limiting locally: StoreIsDown"
    ] * 2


def test_forgetting_is_the_shared_stores():
    async def scenario():
        storage = over(Shared())
        assert storage.base_exceptions == ()
        for key in ("a", "b", "c"):
            await storage.acquire_token_bucket(key, 0.001, 1)
        await storage.clear("a")
        assert (await storage.acquire_token_bucket("a", 0.001, 1)).allowed
        assert not (await storage.acquire_token_bucket("b", 0.001, 1)).allowed
        assert await storage.reset() == 3
        assert (await storage.acquire_token_bucket("b", 0.001, 1)).allowed
        await storage.close()

    run(scenario())


def test_a_fault_of_ours_is_no_outage():
    async def scenario():
        storage = over(Shared())
        try:
            await storage.acquire_token_bucket("a", 1.0, 1, 2)
        finally:
            assert not storage.degraded
            await storage.close()

    with pytest.raises(ValueError):
        run(scenario())


def test_64_requests_in_flight_when_store_freezes_wait_together():
    async def scenario():
        shared = Shared()
        shared.health = "frozen"
        storage = over(shared)
        answers = await asyncio.gather(*(storage.acquire_token_bucket("a", 0.001, 10) for _ in range(64)))
        await storage.close()
        return sum(each.allowed for each in answers)

    assert run(scenario()) == 10


def test_a_store_without_a_deadline_of_ours():
    async def scenario():
        shared = Shared()
        storage = over(shared, deadline=None)
        assert await allowed(storage, 20) == 10
        shared.health = "down"
        assert await allowed(storage, 20) == 10
        await storage.close()

    run(scenario())


def test_closing_ends_the_probe():
    async def scenario():
        shared = Shared()
        shared.health = "down"
        storage = over(shared)
        await allowed(storage, 1)
        await storage.close()
        return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]

    assert run(scenario()) == []


@pytest.mark.parametrize("health", ["well", "down", "frozen"])
def test_startup_checks_shared_store(health):
    async def scenario():
        shared = Shared()
        shared.health = health
        storage = over(shared)
        assert await storage.begin() == (health == "well")
        assert storage.degraded == (health != "well")
        shared.health = "well"
        while storage.degraded:
            await asyncio.sleep(0)
        await storage.close()

    run(scenario())


class SharedHere(Shared):
    """One on the same machine, which decides without waiting."""

    at_once = True

    def spend_at_once(self, key, rate, burst, cost=1):
        self.asked += 1
        if self.health == "down":
            raise StoreIsDown
        return self._buckets.spend_at_once(key, rate, burst, cost)


def test_immediate_decision_uses_the_fallback():
    async def scenario():
        shared = SharedHere()
        storage = over(shared, processes=2, deadline=None)
        decisions = [storage.spend_at_once("a", 0.001, 10) for _ in range(11)]
        assert [each.allowed for each in decisions] == [True] * 10 + [False]
        assert (shared.asked, storage.local_decisions) == (11, 0)
        # It shares its buckets with who waits.
        assert await allowed(storage, 3) == 0
        await storage.close()

    run(scenario())


def test_failing_store_falls_back_to_share_of_limit():
    async def scenario():
        shared = SharedHere()
        shared.health = "down"
        storage = over(shared, processes=2, deadline=None)
        assert sum(storage.spend_at_once("a", 0.001, 10).allowed for _ in range(20)) == 5
        assert (shared.asked, storage.local_decisions, storage.degraded) == (1, 20, True)
        shared.health = "well"
        while storage.degraded:
            await asyncio.sleep(0.01)
        assert storage.spend_at_once("a", 0.001, 10).allowed
        assert shared.asked == 2
        await storage.close()

    run(scenario())


def test_a_store_that_is_waited_for_is_not_asked_without_waiting():
    async def scenario():
        shared = Shared()
        storage = over(shared)
        assert (storage.spend_at_once("a", 0.001, 10), shared.asked) == (None, 0)
        shared.health = "down"
        assert await allowed(storage, 1) == 1
        # Out of reach it is not waited for, either.
        assert storage.spend_at_once("a", 0.001, 10).allowed
        await storage.close()

    run(scenario())
