"""Ids of rows that are read newest first: they ascend with time, so that one column is order, cursor and name.

16 hex digits of microseconds since 1970, and 16 random ones, so that no id tells how many rows there are.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Final

from identity_core.store.times import micros

END: Final = "g"
"""Behind every id."""


def row_id(at: datetime, random: Callable[[int], bytes]) -> str:
    """A new id for a row of that time."""
    return f"{micros(at):016x}{random(8).hex()}"


def first_at(at: datetime | None) -> str:
    """What no id of that time or later precedes; without a time, what no id precedes."""
    return "" if at is None else f"{max(0, micros(at)):016x}"


def bounds(since: datetime | None, until: datetime | None, before: str | None) -> tuple[str, str]:
    """The half-open interval of ids for a page of rows."""
    last = END if until is None else first_at(until)
    return first_at(since), last if before is None else min(last, before)
