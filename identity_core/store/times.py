"""Times in columns: microseconds since 1970, UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    """The column's value of an aware time."""
    return (time - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The aware UTC time of a column's value."""
    return _EPOCH + timedelta(microseconds=value)
