"""An event loop without real waiting: when nothing is left to do, its clock jumps to the next deadline.

So a test of deadlines takes no time, and load on the machine delays nothing. It is for code that waits only for the loop's clock:
work of a thread or another process would be jumped over.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _NeverWaiting(selectors.DefaultSelector):
    """Takes note of how long it was asked to wait."""

    leapt = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        # Without a timer there is nothing to leap to: only another thread can wake the loop.
        found = super().select(None if timeout is None else 0)
        if not found:
            self.leapt += timeout or 0.0
        return found


class _LeapingLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._leaping = _NeverWaiting()
        super().__init__(self._leaping)

    def time(self) -> float:
        return self._leaping.leapt


def run(story: Coroutine[Any, Any, T]) -> T:
    """As ``asyncio.run``."""
    with asyncio.Runner(loop_factory=_LeapingLoop) as runner:
        return runner.run(story)
