"""Times as they are printed and read: RFC 3339, UTC with ``Z``; whole seconds on the wire, microseconds in logs.

Times in columns: microseconds since 1970, UTC.
"""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

_RFC3339 = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt](?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?"
    r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
)


def printed(time: datetime) -> str:
    """``2026-01-02T03:04:05Z``; a fraction is cut off, never rounded up into the future."""
    return _in_utc(time).isoformat(timespec="seconds")[:-6] + "Z"


def printed_or_none(time: datetime | None) -> str | None:
    """Return the printed time, or None for None."""
    return None if time is None else printed(time)


def printed_exactly(time: datetime) -> str:
    """``2026-01-02T03:04:05.678901Z``, as log entries carry it."""
    return _in_utc(time).isoformat(timespec="microseconds")[:-6] + "Z"


def parse(text: object) -> datetime:
    """Parse an RFC 3339 §5.6 time with a zone to aware UTC; digits past microseconds are cut off.

    Raises ``ValueError``, also for a value that is not a string. Refused as well, in every client of ours: leap seconds, more than nine
    digits of a fraction, and times that are before the year 1 or after 9999 in UTC. `tests/vectors/times.json` has the cases.
    """
    if not isinstance(text, str) or _RFC3339.fullmatch(text) is None:
        raise ValueError("not an RFC 3339 time with a zone")
    try:
        return datetime.fromisoformat(text.upper()).astimezone(UTC)
    except OverflowError as error:
        raise ValueError("the time is outside the calendar") from error


def parse_date(text: object) -> date:
    """Parse an RFC 3339 §5.6 ``full-date``. Raises ``ValueError``."""
    return parse(f"{text}T00:00:00Z").date()


def _in_utc(time: datetime) -> datetime:
    # Nearly all are in UTC already, and strftime takes five times as long as isoformat.
    return time if time.tzinfo is UTC else time.astimezone(UTC)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def micros(time: datetime) -> int:
    """Return the column's value of an aware time."""
    return (time - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """Return the aware UTC time of a column's value."""
    return _EPOCH + value * _MICROSECOND
