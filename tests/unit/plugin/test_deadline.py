"""Deadlines: cancelled, given a moment to clean up, then left behind; cancellations from outside keep their meaning."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from identity_core.plugin.limits import Deadline, DeadlineExceeded, rest


async def run_in_bulkhead(coroutine: Coroutine[Any, Any, Any], deadline: Deadline) -> Any:
    """What the bulkhead does with a coroutine."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration as done:
        return done.value
    return await rest(coroutine, waits_for, deadline)


async def answers(value: object, pauses: int = 3) -> object:
    for _ in range(pauses):
        await asyncio.sleep(0)
    return value


def test_a_coroutine_in_time_returns_and_raises_as_if_awaited() -> None:
    async def fails() -> None:
        await asyncio.sleep(0.001)
        raise KeyError("mine")

    async def scenario() -> None:
        deadline = Deadline(60.0)
        assert await run_in_bulkhead(answers(1, 0), deadline) == 1
        assert await run_in_bulkhead(answers(2), deadline) == 2
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_later(0.005, future.set_result, 3)
        assert await run_in_bulkhead(_wait(future), deadline) == 3
        with pytest.raises(KeyError):
            await run_in_bulkhead(fails(), deadline)

    asyncio.run(scenario())


async def _wait(future: asyncio.Future[Any]) -> Any:
    return await future


def test_a_hung_coroutine_is_cancelled_and_cleans_up() -> None:
    cleaned = []

    async def hangs() -> None:
        try:
            await asyncio.sleep(600)
        finally:
            await asyncio.sleep(0.001)  # a clean-up that awaits, as closing a connection does
            cleaned.append(True)

    async def scenario() -> None:
        with pytest.raises(DeadlineExceeded):
            await run_in_bulkhead(hangs(), Deadline(0.02))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0
        await asyncio.sleep(0)  # and the task can go on waiting

    asyncio.run(scenario())
    assert cleaned == [True]


def test_one_that_swallows_the_cancellation_is_left_behind() -> None:
    closed = []

    async def stubborn() -> None:
        try:
            while True:
                try:
                    await asyncio.sleep(600)
                except asyncio.CancelledError:
                    continue
        finally:
            closed.append(True)

    async def scenario() -> None:
        with pytest.raises(DeadlineExceeded):
            await run_in_bulkhead(stubborn(), Deadline(0.02, cleanup_seconds=0.02))
        task = asyncio.current_task()
        assert task is not None
        assert task.cancelling() == 0

    asyncio.run(scenario())
    assert closed == [True]


@pytest.mark.parametrize("ending", ["returns", "raises"])
def test_a_late_answer_is_late(ending: str) -> None:
    async def late() -> str:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            if ending == "raises":
                raise ValueError("in a panic") from None
        return "too late"

    async def scenario() -> None:
        with pytest.raises(DeadlineExceeded):
            await run_in_bulkhead(late(), Deadline(0.01))

    asyncio.run(scenario())


def test_a_cancellation_from_outside_stays_one() -> None:
    seen = []

    async def hangs() -> None:
        try:
            await asyncio.sleep(600)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def scenario() -> None:
        task = asyncio.create_task(run_in_bulkhead(hangs(), Deadline(60.0)))
        await asyncio.sleep(0.005)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert task.cancelled()

    asyncio.run(scenario())
    assert seen == ["cancelled"]


def test_deadline_with_cancellation_is_cancellation() -> None:
    async def scenario() -> None:
        task = asyncio.create_task(run_in_bulkhead(asyncio.sleep(600), Deadline(0.01)))

        def both() -> None:
            task.cancel()

        asyncio.get_running_loop().call_later(0.01, both)
        with pytest.raises((asyncio.CancelledError, DeadlineExceeded)):
            await task
        # A timeout inside a timeout: the outer one sees its own cancellation.
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await run_in_bulkhead(asyncio.sleep(600), Deadline(60.0))

    asyncio.run(scenario())


def test_the_plugin_may_use_timeouts_and_groups_of_its_own() -> None:
    async def modern() -> str:
        async with asyncio.TaskGroup() as group:
            one = group.create_task(answers("a"))
            two = group.create_task(answers("b"))
        try:
            async with asyncio.timeout(0.005):
                await asyncio.sleep(600)
        except TimeoutError:
            return str(one.result()) + str(two.result())
        return "never"

    async def scenario() -> None:
        assert await run_in_bulkhead(modern(), Deadline(60.0)) == "ab"

    asyncio.run(scenario())


def test_one_timer_serves_many_calls_each_at_its_own_time() -> None:
    async def scenario() -> None:
        deadline = Deadline(1.0)
        loop = asyncio.get_running_loop()

        async def call(delay: float, lasts: float) -> float | None:
            await asyncio.sleep(delay)
            began = loop.time()
            try:
                await run_in_bulkhead(asyncio.sleep(lasts), deadline)
            except DeadlineExceeded:
                return loop.time() - began
            return None

        outcomes = await asyncio.gather(*(call(n * 0.004, 600 if n % 2 else 0.001) for n in range(20)))
        assert all(outcome is None for outcome in outcomes[0::2])
        assert all(outcome is not None and outcome >= 0.999 for outcome in outcomes[1::2])

    asyncio.run(scenario())
    asyncio.run(scenario())  # and a second loop is no trouble


def test_a_second_loop_begins_anew() -> None:
    deadline = Deadline(0.01)

    async def scenario() -> None:
        with pytest.raises(DeadlineExceeded):
            await run_in_bulkhead(asyncio.sleep(600), deadline)

    asyncio.run(scenario())
    asyncio.run(scenario())
