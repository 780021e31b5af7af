"""The clock as an argument."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from identity_core.errors import LedgerUnavailable, PluginUnavailable

MOST_AHEAD_SECONDS: Final = 60.0


class Clock(Protocol):
    """Wall time for what is recorded, a monotonic count for what is measured."""

    def now(self) -> datetime:
        """The aware UTC time, with microseconds."""
        ...

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""
        ...


@runtime_checkable
class WatchedClock(Clock, Protocol):
    """A clock with a second opinion of the time."""

    def ahead_seconds(self, at: datetime) -> float:
        """Return by how much ``at`` is later than the time can be now."""
        ...


class ClockAhead(LedgerUnavailable):
    """Nothing is recorded while the clock is ahead; it passes, so the answer is 503."""

    code, status = PluginUnavailable.code, PluginUnavailable.status


def require_steady(clock: Clock, at: datetime, *, server: datetime | None = None) -> None:
    """Raise ``ClockAhead`` where ``at``, a time to be recorded for good, is more than a minute ahead of what a watched clock
    counts, or of ``server``, the clock of the database."""
    ahead = clock.ahead_seconds(at) if isinstance(clock, WatchedClock) else 0.0
    if server is not None:
        ahead = max(ahead, (at - server).total_seconds())
    if ahead > MOST_AHEAD_SECONDS:
        says = f"The clock of the service is {ahead:.0f} s ahead, and nothing is recorded for a time to come."
        remedy = "Set the clock; where it is right, restart the service."
        raise ClockAhead(f"{says} {remedy}", details={"outcome": "not recorded", "retryAfter": 60})
