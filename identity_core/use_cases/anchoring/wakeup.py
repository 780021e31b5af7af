"""How those who wait for a receipt and the worker who makes it wake each other within a process."""

from __future__ import annotations

import asyncio
import contextlib


class Wakeup:
    """Told of every change. Take ``next_change`` before looking, so that no change in between is missed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def next_change(self) -> asyncio.Event:
        """What the next change sets."""
        return self._event

    def notify(self) -> None:
        """Wakes all who wait now."""
        self._event.set()
        self._event = asyncio.Event()


async def awaited(change: asyncio.Event, seconds: float) -> None:
    """Returns when it is notified, and at the latest after ``seconds``."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await change.wait()
