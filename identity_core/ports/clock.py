"""The clock as an argument."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is recorded, a monotonic count for what is measured."""

    def now(self) -> datetime:
        """The aware UTC time, with microseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""
        ...


def erasing_time(clock: Clock) -> datetime:
    """Return the time by which records may be erased: never later than a watched clock has counted since the start."""
    now = clock.now()
    ahead = getattr(clock, "ahead_seconds", None)
    return now - timedelta(seconds=0.0 if ahead is None else max(0.0, ahead(now)))
