"""The clock as an argument."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class Clock(Protocol):
    """Wall time for what is recorded, a monotonic count for what is measured."""

    def now(self) -> datetime:
        """The aware UTC time, with microseconds."""

    def monotonic(self) -> float:
        """Seconds since an arbitrary moment; never goes back."""
