"""Lanes of anonymous signature checks: one at a time, with pauses, and without delay for authenticated clients."""

from __future__ import annotations

import asyncio
import threading
import time
from types import SimpleNamespace
from typing import Any

import pytest
from identity_verification.handlers import VerificationHandlers
from identity_verification.use_cases.credentials import anonymous_checks

from identity_core.errors import Overloaded
from identity_core.use_cases.credentials.signature_checks import SignatureChecks


class Slow:
    """A check that takes as long as it is held."""

    def __init__(self) -> None:
        self.begun = 0
        self.go = threading.Event()

    def __call__(self, *_: Any) -> None:
        self.begun += 1
        assert self.go.wait(60)


@pytest.fixture
def slow() -> Slow:
    return Slow()


def ask(checks: SignatureChecks, slow: Slow) -> asyncio.Task[None]:
    return asyncio.ensure_future(checks(slow))


async def until(what: Any) -> None:
    end = time.monotonic() + 60
    while not what():
        assert time.monotonic() < end
        await asyncio.sleep(0.005)


def test_sixteen_strangers_wait_and_the_next_is_turned_away(slow: Slow) -> None:
    async def story() -> None:
        strangers, known = anonymous_checks(), SignatureChecks()
        waiting = [ask(strangers, slow) for _ in range(16)]
        await until(lambda: slow.begun == 1)
        with pytest.raises(Overloaded):
            await ask(strangers, slow)
        mine = [ask(known, slow) for _ in range(2)]
        await until(lambda: slow.begun == 3)
        slow.go.set()
        await asyncio.gather(*mine)
        for one in waiting:
            one.cancel()

    asyncio.run(story())


@pytest.mark.parametrize("is_known", [False, True])
def test_an_api_key_takes_no_turn_of_strangers(is_known: bool) -> None:
    """A key could fill the queue of those who have none, and no address was counted for it."""
    seen: list[bool] = []

    async def verify(body: object, *, is_known: bool) -> None:
        seen.append(is_known)

    request: Any = SimpleNamespace(body=None, caller=object() if is_known else None)
    asyncio.run(VerificationHandlers.verify_credential(SimpleNamespace(credential=verify), request))  # type: ignore[arg-type]
    assert seen == [is_known]


def test_a_turn_is_free_again_only_after_a_rest(slow: Slow) -> None:
    slow.go.set()

    async def story() -> None:
        checks = SignatureChecks(at_once=1, waiting=4, rest=1e6)
        await ask(checks, slow)
        second = ask(checks, slow)
        await asyncio.sleep(0.05)
        assert (slow.begun, second.done()) == (1, False)
        second.cancel()

    asyncio.run(story())


def test_cancelled_caller_leaves_its_lane(slow: Slow) -> None:
    async def story() -> None:
        checks = SignatureChecks(at_once=1, waiting=4)
        gone = ask(checks, slow)
        await until(lambda: slow.begun == 1)
        gone.cancel()
        second = ask(checks, slow)
        await asyncio.sleep(0.05)
        assert slow.begun == 1, "two run where one may"
        slow.go.set()
        await second
        assert slow.begun == 2

    asyncio.run(story())
