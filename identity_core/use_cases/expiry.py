"""The time and the sizes of the steps in which expired rows are deleted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from identity_core.ports.clock import Clock
from identity_core.use_cases.background import Repeating

HELD_SECONDS: Final = 0.02
"""The writer is everybody's: no step holds it longer."""

FEWEST, MOST, FIRST = 10, 500, 25
SOON_SECONDS: Final = 0.2


def erasing_time(clock: Clock) -> datetime:
    """Return the time by which records may be erased: never later than a watched clock has counted since the start."""
    now = clock.now()
    ahead = getattr(clock, "ahead_seconds", None)
    return now - timedelta(seconds=0.0 if ahead is None else max(0.0, ahead(now)))


@dataclass(slots=True)
class StepSize:
    """How many ``rows`` a step takes, of one kind: fewer after one that took more than half of what it may, more while there are more and
    twice as long a step is still far from that. ``monotonic`` is in seconds."""

    monotonic: Callable[[], float]
    rows: int = FIRST

    async def step(self, forget: Callable[[int], Awaitable[int]]) -> bool:
        """Calls ``forget`` with how many rows may go, which answers how many went. Whether there may be more."""
        began, limit = self.monotonic(), self.rows
        gone = await forget(limit)
        seconds = self.monotonic() - began
        if seconds > HELD_SECONDS / 2:
            self.rows = max(FEWEST, limit // 2)
        elif gone == limit and seconds < HELD_SECONDS / 5:
            self.rows = min(MOST, limit * 2)
        return gone == limit


@dataclass(slots=True)
class ForgetRows(Repeating):
    """Deletes expired rows of an extension.

    ``forget``: deletes at most ``limit`` rows that expired by a time and returns their number. ``kept_after``: how long each is stored
    after its end.
    """

    complaint = "expired rows cannot be deleted"
    interval_seconds = 30.0

    forget: Callable[..., Awaitable[int]]
    clock: Clock
    kept_after: timedelta = timedelta(0)
    size: StepSize = field(init=False)

    def __post_init__(self) -> None:
        self.size = StepSize(self.clock.monotonic)

    async def step(self) -> float:
        """Delete some of them. Return the pause, which is short while there are more."""
        until = erasing_time(self.clock) - self.kept_after
        more = await self.size.step(lambda limit: self.forget(until, limit=limit))
        return SOON_SECONDS if more else self.interval_seconds
