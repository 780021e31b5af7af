from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from identity_codec import times

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "microseconds"),
    [
        ("2026-01-02T03:04:05Z", 0),
        ("2026-01-02t03:04:05z", 0),
        ("2026-01-02T05:34:05+02:30", 0),
        ("2026-01-01T22:04:05.5-05:00", 500_000),
        ("2026-01-02T03:04:05.000001Z", 1),
        ("2026-01-02T03:04:05.1234569Z", 123_456),
        ("2026-01-02T03:04:05.999999999Z", 999_999),
    ],
)
def test_times_are_read(text: str, microseconds: int) -> None:
    """Digits past microseconds are cut off, never rounded up."""
    read = times.parse(text)
    assert read == AT + timedelta(microseconds=microseconds)
    assert read.tzinfo is UTC


@pytest.mark.parametrize(
    "text",
    [
        "",
        "2026-01-02",
        "2026-01-02T03:04:05",
        "2026-01-02 03:04:05Z",
        "2026-01-02T03:04Z",
        "2026-01-02T03:04:05.Z",
        "2026-01-02T03:04:05.1234567890Z",
        "2026-01-02T03:04:05,5Z",
        "2026-02-30T03:04:05Z",
        "2026-01-02T03:04:60Z",
        "2026-01-02T03:04:05+0000",
        "0001-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00",
        "2026-01-02T03:04:05Z\n",
        "２026-01-02T03:04:05Z",
    ],
)
def test_malformed_time_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        times.parse(text)


def test_times_are_printed_in_utc() -> None:
    at = (AT + timedelta(microseconds=999_999)).astimezone(timezone(timedelta(hours=2)))
    assert times.printed(at) == "2026-01-02T03:04:05Z"
    assert times.printed_exactly(at) == "2026-01-02T03:04:05.999999Z"
    assert times.printed_exactly(AT) == "2026-01-02T03:04:05.000000Z"
