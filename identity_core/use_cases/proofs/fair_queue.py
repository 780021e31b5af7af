"""One step of one proof a round of the event loop.

A request for a proof is ten times the work of a look-up, and many of them become ready at once: a commit wakes all whose rows it
holds. Stepping one at a time lets whatever else has arrived go in between, which then waits for one step and not for all.
"""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class FairQueue:
    """Lets one caller after another go on, in the order in which they came."""

    _waiting: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __call__(self) -> asyncio.Future[None]:
        """Resolves when it is the caller's turn."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._waiting.append(turn)
        if len(self._waiting) == 1:
            loop.call_soon(self._next, loop)
        return turn

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        turn = self._waiting.popleft()
        if not turn.done():
            turn.set_result(None)
        if self._waiting:
            loop.call_soon(self._next, loop)
