"""The clock as an argument."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """A clock: wall time for records, monotonic time for durations."""

    def now(self) -> datetime:
        """Return the aware UTC time, with microseconds."""

    def monotonic(self) -> float:
        """Return the seconds since an arbitrary moment; the value never decreases."""
