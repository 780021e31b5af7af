"""The rules of client assertions, at their limits; the signature is checked elsewhere."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from identity_oauth.domain.client_assertion import MAX_LIFETIME_SECONDS, TYPE, ClientAssertion
from identity_oauth.domain.tokens import LEEWAY_SECONDS, Envelope

ISSUER = "https://id.example"
ENDPOINT = f"{ISSUER}/oauth/token"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = int(NOW.timestamp())
AKI = "did:ids:QmAki"
GOOD: dict[str, Any] = {"iss": AKI, "sub": AKI, "aud": ISSUER, "jti": "one", "exp": SECOND + 60}


def read(head: dict[str, Any] | None = None, **claims: Any) -> ClientAssertion:
    said = {name: value for name, value in (GOOD | claims).items() if value is not None}
    envelope = Envelope({"alg": "EdDSA"} | (head or {}), said, b"", b"")
    return ClientAssertion.read(envelope, NOW, issuer=ISSUER, token_endpoints=frozenset({ENDPOINT}))


def test_client_assertion_is_read() -> None:
    found = read({"kid": f"{AKI}#k"})
    assert (found.client, found.key_id, found.identifier) == (AKI, f"{AKI}#k", "one")
    assert found.expires_at.timestamp() == SECOND + 60
    assert read().key_id is None


@pytest.mark.parametrize(
    "times",
    [
        {"exp": SECOND + 1},
        {"exp": SECOND + MAX_LIFETIME_SECONDS + LEEWAY_SECONDS},
        {"iat": SECOND + LEEWAY_SECONDS},
        {"nbf": SECOND + LEEWAY_SECONDS},
        {"nbf": float(SECOND), "iat": SECOND - 0.25, "exp": SECOND + 60.5},
        {"iat": 0, "nbf": 0},
    ],
)
def test_times_that_are_just_right(times: dict[str, float]) -> None:
    assert read(**times).client == AKI


@pytest.mark.parametrize(
    "times",
    [
        {"exp": None},
        {"exp": SECOND},
        {"exp": SECOND + MAX_LIFETIME_SECONDS + LEEWAY_SECONDS + 1},
        {"exp": -SECOND},
        {"exp": 2**63},
        {"exp": True},
        {"iat": SECOND + LEEWAY_SECONDS + 1},
        {"nbf": SECOND + LEEWAY_SECONDS + 1},
        {"iat": str(SECOND)},
        {"nbf": [SECOND]},
        {"nbf": False},
    ],
)
def test_times_that_are_not(times: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read(**times)


@pytest.mark.parametrize("audience", [ISSUER, [ISSUER], ENDPOINT, [ENDPOINT]])
def test_older_assertion_is_for_issuer_or_its_token_endpoint(audience: Any) -> None:
    assert read(aud=audience).client == AKI
    assert read({"typ": "JWT"}, aud=audience).client == AKI


@pytest.mark.parametrize("audience", [[ISSUER], ENDPOINT, [ENDPOINT], f"{ISSUER}/"])
def test_one_that_says_what_it_is_is_for_the_issuer_alone(audience: Any) -> None:
    for typ in (TYPE, TYPE.upper(), f"application/{TYPE}"):
        assert read({"typ": typ}).client == AKI
    with pytest.raises(ValueError, match="aud"):
        read({"typ": TYPE}, aud=audience)
    with pytest.raises(ValueError, match="aud"):
        read({"typ": f"Application/{TYPE}"}, aud=audience)


@pytest.mark.parametrize("audience", [None, "", [], [[ISSUER]], [ISSUER, ISSUER], {"a": ISSUER}, f"{ISSUER}/", 1])
def test_an_audience_that_is_none(audience: Any) -> None:
    with pytest.raises(ValueError, match="aud"):
        read(aud=audience)


def test_it_is_spent_by_client_and_jti() -> None:
    digests = {
        one.digest for one in (read(), read(exp=SECOND + 2), read(jti="two"), read(iss=f"{AKI}x", sub=f"{AKI}x"))
    }
    assert len(digests) == 3
