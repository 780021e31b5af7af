"""The task that repeats a step: what it tells, what ends it, and what it never does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from identity_core.errors import IdentityError, LedgerUnavailable
from identity_core.use_cases.background import Repeating


@dataclass(slots=True)
class Walk(Repeating):
    """Goes as the test says: what each step raises, None for nothing; the last one for ever."""

    complaint = "the walk does not get on"
    interval_seconds = 0.0

    outcomes: list[Exception | None]
    taken: int = field(default=0, init=False)

    async def step(self) -> float:
        outcome = self.outcomes[min(self.taken, len(self.outcomes) - 1)]
        self.taken += 1
        if outcome is not None:
            raise outcome
        return 0.0


async def until(holds: Callable[[], Any]) -> None:
    async with asyncio.timeout(30):
        while not holds():
            await asyncio.sleep(0)


def run(story: Any) -> None:
    asyncio.run(asyncio.wait_for(story(), 60))


def test_it_tells_each_new_reason_once_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    rain, snow = LedgerUnavailable("rain", details={"mm": 3}), LedgerUnavailable("snow")

    async def story() -> None:
        walk = Walk([None, rain, rain, rain, snow, snow, rain, None, rain, None])
        walk.begin()
        await until(lambda: walk.taken > 12)
        assert walk.fault == ""
        await walk.close()

    with caplog.at_level(logging.ERROR, logger="identity"):
        run(story)
    assert [record.getMessage() for record in caplog.records] == [
        "the walk does not get on: rain {'mm': 3}",
        "the walk does not get on: snow {}",
        "the walk does not get on: rain {'mm': 3}",
        "the walk does not get on: rain {'mm': 3}",
    ]


def test_its_fault_is_there_as_long_as_the_reason() -> None:
    async def story() -> None:
        walk = Walk([LedgerUnavailable("rain")])
        assert walk.fault == ""
        walk.begin()
        await until(lambda: walk.taken > 2)
        assert walk.fault == "rain"
        walk.outcomes = [None]
        await until(lambda: walk.fault == "")
        await walk.close()

    run(story)


@pytest.mark.parametrize("fault", [ZeroDivisionError("a fault of ours"), KeyError("x")])
def test_a_fault_of_ours_ends_it_with_an_alarm(fault: Exception, caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        walk = Walk([None, fault])
        walk.begin()
        await until(lambda: walk.fault)
        assert (walk.fault, walk.taken) == ("the task has ended", 2)
        await walk.close()

    run(story)
    [alarm] = caplog.records
    assert alarm.getMessage() == "ALARM: the walk does not get on: the task has ended"
    assert alarm.exc_info is not None
    assert alarm.exc_info[1] is fault


def test_closing_ends_it_and_tells_nothing(caplog: pytest.LogCaptureFixture) -> None:
    async def story() -> None:
        await Walk([None]).close()
        walk = Walk([None])
        walk.begin()
        await until(lambda: walk.taken > 2)
        await walk.close()
        taken = walk.taken
        for _ in range(10):
            await asyncio.sleep(0)
        assert walk.taken == taken
        await walk.close()

    run(story)
    assert caplog.records == []


def test_cancellation_while_closing_is_raised() -> None:
    """A step that does not end at once must not hold up a shutdown whose own timeout has passed."""

    async def story() -> None:
        may_end = asyncio.Event()

        class Slow(Walk):
            async def step(self) -> float:
                self.taken += 1
                try:
                    await asyncio.sleep(600)
                finally:
                    await may_end.wait()
                return 0.0

        walk = Slow([])
        walk.begin()
        await until(lambda: walk.taken)
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(walk.close(), 0.05)
        may_end.set()
        await walk.close()
        assert walk.fault == "the task has ended"

    run(story)


def test_run_alone_ends_by_cancellation_only() -> None:
    async def story() -> None:
        walk = Walk([IdentityError("always")])
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(walk.run(), 0.05)
        assert walk.taken > 1
        assert walk.fault == "always"

    run(story)
