"""The registered claims of every JWT (RFC 7519 §2, §4.1.3 to §4.1.6)."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_codec.jose import check_claims, media_type

SECOND = 1_767_268_800
NOW = datetime.fromtimestamp(SECOND, UTC)
OURS = ("https://id.example", "https://id.example/api/v1")


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"exp": SECOND + 1, "nbf": SECOND, "iat": SECOND},
        {"exp": SECOND + 0.001, "nbf": SECOND + 59.5, "iat": SECOND - 1e8},
        {"nbf": SECOND + 60, "iat": SECOND + 60},
        {"exp": 253_402_300_799},
        {"aud": OURS[0]},
        {"aud": ["https://other.example", OURS[1]]},
        {"aud": [7, OURS[0]]},
    ],
)
def test_claims_for_this_reader_and_time_are_accepted(claims: dict[str, Any]) -> None:
    check_claims(claims, NOW, audience=OURS)


@pytest.mark.parametrize("name", ["exp", "nbf", "iat"])
@pytest.mark.parametrize(
    "value", [None, True, False, "1767268800", "", [], {}, -1, 253_402_300_800, 2**63, float("inf")]
)
def test_time_of_another_form_is_refused(name: str, value: Any) -> None:
    """A NumericDate is a JSON number (RFC 7519 §2); ``null`` does not mean "never"."""
    with pytest.raises(ValueError, match=name):
        check_claims({name: value}, NOW, audience=OURS)


@pytest.mark.parametrize(
    "claims",
    [
        {"exp": SECOND},
        {"exp": SECOND - 0.001},
        {"exp": 0},
        {"nbf": SECOND + 60.001},
        {"iat": SECOND + 61},
        {"aud": "https://id.example/"},
        {"aud": ["https://other.example"]},
        {"aud": []},
        {"aud": None},
        {"aud": {OURS[0]: True}},
        {"aud": [[OURS[0]]]},
    ],
)
def test_claims_for_others_or_another_time_are_refused(claims: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        check_claims(claims, NOW, audience=OURS)


def test_required_claims_must_be_there() -> None:
    check_claims({"aud": OURS[0], "iat": SECOND}, NOW, audience=OURS, required=("aud", "iat"))
    for name in ("aud", "iat"):
        left = {"aud": OURS[0], "iat": SECOND}
        del left[name]
        with pytest.raises(ValueError, match=name):
            check_claims(left, NOW, audience=OURS, required=("aud", "iat"))


def test_caller_that_compares_itself_gets_the_times() -> None:
    times = check_claims({"exp": 1.5, "nbf": 0, "aud": "x"}, None, audience=None)
    assert (times.issued, times.begins) == (None, datetime.fromtimestamp(0, UTC))
    assert times.ends == datetime.fromtimestamp(1, UTC) + timedelta(seconds=0.5)


@pytest.mark.parametrize("typ", ["kb+jwt", "KB+JWT", "application/kb+jwt", "Application/Kb+Jwt"])
def test_type_is_compared_without_case_and_prefix(typ: str) -> None:
    """RFC 7515 §4.1.9, RFC 2045 §5.1."""
    assert media_type({"typ": typ}) == "kb+jwt"
    assert media_type({"typ": ["kb+jwt"]}) is None
    assert media_type({"typ": "text/kb+jwt"}) != "kb+jwt"
