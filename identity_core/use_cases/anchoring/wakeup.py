"""How those who wait for a receipt and the worker who makes it wake each other within a process."""

from __future__ import annotations

import asyncio
import contextlib


class Bell:
    """Rung whenever something changed. ``ear`` is taken before one looks, so that nothing rings unheard in between."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def ear(self) -> asyncio.Event:
        """What the next ringing sets."""
        return self._event

    def ring(self) -> None:
        """Wakes everybody who listens now."""
        self._event.set()
        self._event = asyncio.Event()


async def heard(ear: asyncio.Event, seconds: float) -> None:
    """Returns when the bell rings, and at the latest after ``seconds``."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await ear.wait()
