"""The one parser of times, and everything that reads times with it: RFC 3339 §5.6."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import identity_core
from identity_codec import times
from identity_core.domain.credentials.attributes import Attribute, AttributeType, ValueRefused
from identity_core.domain.inputs import optional_time
from identity_core.errors import InvalidRequest
from tests.client.own_logs import TIMES, is_good, timed_logs

CASES = pytest.mark.parametrize("case", TIMES, ids=[case["text"].strip() or "nothing" for case in TIMES])


@CASES
def test_a_time_is_parsed_as_the_vectors_tell(case: dict[str, Any]) -> None:
    if case["microseconds"] is None:
        with pytest.raises(ValueError):
            times.parse(case["text"])
    else:
        assert times.micros(times.parse(case["text"])) == case["microseconds"]


@CASES
def test_a_log_with_a_time_is_valid_where_the_time_is(case: dict[str, Any]) -> None:
    assert is_good(timed_logs()[case["text"]]) == (case["microseconds"] is not None)


@pytest.mark.parametrize("value", [None, 5, 1.5, True, b"2026-01-01T00:00:00Z", ["2026-01-01T00:00:00Z"], {}])
def test_a_value_that_is_no_string_is_no_time(value: object) -> None:
    with pytest.raises(ValueError, match="RFC 3339"):
        times.parse(value)
    with pytest.raises(ValueError, match="RFC 3339"):
        times.parse_date(value)


@pytest.mark.parametrize(
    "text",
    [
        "2026-02-29",
        "2026-1-1",
        "20260101",
        "2026-W01-1",
        "2026-01-01T00:00:00Z",
        "",
        " 2026-01-01",
        "2026-01-01\n",
        "٢٠٢٦-01-01",
    ],
)
def test_a_date_is_a_full_date(text: str) -> None:
    with pytest.raises(ValueError):
        times.parse_date(text)
    assert times.parse_date("2024-02-29").isoformat() == "2024-02-29"


def test_a_member_of_a_request_is_refused_with_its_name() -> None:
    """`revokeOldAfter` went into signed entries as it came, and two of three readers refused the log for good."""
    with pytest.raises(InvalidRequest, match="revokeOldAfter is not an RFC 3339 time"):
        optional_time("2026-12-01T00:00:00+00:99", "revokeOldAfter")


def test_a_datetime_of_a_credential_is_a_time_of_the_parser() -> None:
    attribute = Attribute("at", AttributeType.DATETIME)
    for case in TIMES:
        text, is_time = case["text"], case["microseconds"] is not None
        fits = is_time and text.upper() == text and "999Z" not in text
        if fits:
            assert attribute.read(text).number == case["microseconds"]
        else:
            with pytest.raises(ValueRefused):
                attribute.read(text)


def test_nothing_else_parses_times() -> None:
    """`identity_codec.times` is the one parser: another would accept other texts."""
    root = Path(identity_core.__file__).parent
    others = list(root.parent.glob("p*/*/identity_*/**/*.py"))
    found = {
        str(path.relative_to(root.parent))
        for path in (*root.rglob("*.py"), *others)
        if "tests" not in path.parts
        if re.search(r"(?<!date)\b(?:datetime|time)\.(?:fromisoformat|strptime)\(|dateutil", path.read_text("utf-8"))
    }
    assert found == {"packages/identity_codec/identity_codec/times.py"}
