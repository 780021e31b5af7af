"""The rules of access tokens. Every token here is built by hand; only what is read is ours."""

import base64
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from identity_oauth.domain import tokens as token
from identity_oauth.domain.tokens import AccessToken, Envelope

ISSUER = "https://id.example"
NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
SECOND = int(NOW.timestamp())
HANA = "did:ids:QmHana"
HEADER = {"alg": "EdDSA", "typ": "at+jwt", "kid": "k1"}
CLAIMS: dict[str, Any] = {
    "iss": ISSUER,
    "aud": ISSUER,
    "sub": HANA,
    "client_id": HANA,
    "key": "z6MkHana",
    "jti": "one",
    "iat": SECOND,
    "exp": SECOND + 600,
}
ACTING = CLAIMS | {"client_id": "key:olu", "act": {"sub": "key:olu"}}


def encoded(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def text(header: Any = HEADER, claims: Any = CLAIMS) -> str:
    parts = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in (header, claims)]
    return ".".join([*(encoded(part) for part in parts), encoded(bytes(64))])


def read(claims: Any, now: datetime = NOW) -> AccessToken:
    return Envelope.open(text(claims=claims)).read(ISSUER, now, token.audiences(ISSUER))


def test_written_token_is_read() -> None:
    for subject, client, scopes in (
        (HANA, HANA, None),
        ("key:olu", "key:olu", frozenset({"dids:list", "dids:create"})),
        (HANA, "key:olu", frozenset[str]()),
    ):
        said = AccessToken(subject, client, "k", scopes, "j", NOW, NOW + timedelta(minutes=10))
        envelope = Envelope.open(said.signing_input(ISSUER, "kid") + ".AA")
        assert envelope.key_id() == "kid"
        assert envelope.read(ISSUER, NOW, token.audiences(ISSUER)) == said


def test_a_token_is_for_this_service_or_its_interface() -> None:
    assert read(CLAIMS).audience is None
    assert read(CLAIMS | {"aud": f"{ISSUER}/api/v1"}).audience == f"{ISSUER}/api/v1"
    said = AccessToken(HANA, HANA, "k", None, "j", NOW, NOW + timedelta(minutes=10), f"{ISSUER}/api/v1")
    assert said.claims(ISSUER)["aud"] == f"{ISSUER}/api/v1"
    for other in (f"{ISSUER}/", f"{ISSUER}/api", "https://other.example/api/v1", [ISSUER]):
        with pytest.raises(ValueError):
            read(CLAIMS | {"aud": other})


def test_an_operator_is_the_actor_and_the_did_the_subject() -> None:
    found = read(ACTING)
    assert (found.subject, found.client) == (HANA, "key:olu")
    said = AccessToken(HANA, "key:olu", "k", None, "j", NOW, NOW + timedelta(minutes=10))
    assert said.claims(ISSUER)["act"] == {"sub": "key:olu"}


@pytest.mark.parametrize(
    "broken",
    [
        "",
        ".",
        "..",
        "e30.e30",
        "e30.e30.AA.AA",
        "e30=.e30.AA",
        "e3 0.e30.AA",
        "e31.e30.AA",
        text(header=[]),
        text(claims=[]),
        text(claims=b"null"),
        text(claims=b'{"iss":"a","iss":"b"}'),
        text(claims=b'{"iss":"a","\\u0069ss":"b"}'),
        text(header=b'{"alg":"EdDSA","alg":"none"}'),
        text(claims=b'{"exp":NaN}'),
        text(claims=b'{"exp":1e999}'),
        text(claims=b'{"exp":' + b"9" * 400 + b"}"),
        text(claims=b"[" * 40 + b"]" * 40),
        text(claims=b"{}\xff"),
        text(claims=CLAIMS | {"jti": "x" * 8_192}),
        "a" * 100_000,
    ],
)
def test_malformed_token_is_not_opened(broken: str) -> None:
    with pytest.raises(ValueError):
        Envelope.open(broken)


@pytest.mark.parametrize(
    "header",
    [
        {"alg": "EdDSA", "typ": "at+jwt"},
        {"alg": "EdDSA", "kid": "k1"},
        HEADER | {"typ": "JWT"},
        HEADER | {"typ": "text/at+jwt"},
        HEADER | {"alg": "none"},
        HEADER | {"alg": "HS256"},
        HEADER | {"alg": "eddsa"},
        HEADER | {"alg": None},
        HEADER | {"kid": ""},
        HEADER | {"kid": 1},
        HEADER | {"jku": "https://evil.example/jwks.json"},
        HEADER | {"jwk": {"kty": "OKP", "crv": "Ed25519", "x": "A" * 43}},
        HEADER | {"x5u": "https://evil.example/"},
        HEADER | {"crit": ["exp"]},
        HEADER | {"b64": False},
    ],
)
def test_a_header_is_exactly_ours(header: Any) -> None:
    with pytest.raises(ValueError):
        Envelope.open(text(header=header)).key_id()


@pytest.mark.parametrize("alg", ["EdDSA", "Ed25519"])
def test_both_names_of_the_algorithm_are_known(alg: str) -> None:
    assert Envelope.open(text(header=HEADER | {"alg": alg})).key_id() == "k1"


@pytest.mark.parametrize(
    "changed",
    [
        {"iss": "https://other.example"},
        {"iss": ISSUER + "/"},
        {"iss": [ISSUER]},
        {"aud": "https://other.example"},
        {"aud": [ISSUER]},
        {"aud": None},
        {"sub": ""},
        {"sub": 1},
        {"sub": "did:ids:QmOther"},
        {"client_id": "olu", "sub": "olu"},
        {"client_id": "did:ids:QmOther", "act": {"sub": "did:ids:QmOther"}},
        {"client_id": "key:olu"},
        {"client_id": "key:olu", "act": {"sub": "key:eve"}},
        {"client_id": "key:olu", "act": {"sub": "key:olu", "act": {"sub": "key:eve"}}},
        {"client_id": "key:olu", "sub": "key:eve", "act": {"sub": "key:olu"}},
        {"act": {"sub": HANA}},
        {"key": ""},
        {"key": None},
        {"jti": 5},
        {"iat": str(SECOND)},
        {"exp": str(SECOND + 600)},
        {"iat": None},
        {"exp": SECOND + 86_400.5},
        {"iat": True},
        {"exp": None},
        {"exp": SECOND},
        {"exp": SECOND - 1, "iat": SECOND - 601},
        {"iat": SECOND + 61},
        {"iat": SECOND + 61, "exp": SECOND + 700},
        {"exp": SECOND + 86_401},
        {"exp": 2**63 - 1},
        {"iat": 2**63 - 2, "exp": 2**63 - 1},
        {"iat": -(2**63)},
        {"scope": "a  b"},
        {"scope": " a"},
        {"scope": 'a"b'},
        {"scope": "a\nb"},
        {"scope": ["a"]},
        {"scope": "a" * 65},
        {"nbf": SECOND},
        {"cnf": {"jkt": "x"}},
        {"Sub": HANA},
    ],
)
def test_a_claim_out_of_place_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        read(CLAIMS | changed)


@pytest.mark.parametrize("name", sorted(CLAIMS))
def test_every_claim_is_needed(name: str) -> None:
    with pytest.raises(ValueError):
        read({key: value for key, value in CLAIMS.items() if key != name})


def test_type_is_compared_without_case_and_prefix() -> None:
    """RFC 7515 §4.1.9 and RFC 9068 §4."""
    for typ in ("AT+JWT", "application/at+jwt", "Application/At+Jwt"):
        assert Envelope(HEADER | {"typ": typ}, {}, b"", b"").key_id() == HEADER["kid"]


def test_times_may_have_fractions() -> None:
    """RFC 7519 §2: a NumericDate is a number, and need not be whole."""
    assert read(CLAIMS | {"iat": SECOND - 0.5, "exp": SECOND + 600.5}).expires_at == NOW + timedelta(seconds=600.5)


def test_the_time_is_that_of_the_question() -> None:
    read(CLAIMS, NOW - timedelta(seconds=60))
    read(CLAIMS, NOW + timedelta(seconds=599, microseconds=999_999))
    for at in (NOW - timedelta(seconds=61), NOW + timedelta(seconds=600), NOW + timedelta(days=9)):
        with pytest.raises(ValueError, match=r"exp is in the past|in the future"):
            read(CLAIMS, at)


def test_limits_of_a_token() -> None:
    """60 seconds ahead, a day long, 8,192 characters."""
    read(CLAIMS, NOW - timedelta(seconds=60))
    read(CLAIMS | {"exp": SECOND + 86_400}, NOW)
    assert (token.MAX_LENGTH, token.MAX_SCOPE) == (8_192, 2_048)


@given(st.text(), st.sampled_from(sorted(CLAIMS)))
def test_no_text_in_a_claim_breaks_the_reader(value: str, name: str) -> None:
    try:
        found = read(CLAIMS | {name: value})
    except ValueError:
        return
    assert name in ("key", "jti"), found


def test_a_sealed_key_opens_for_its_token_alone() -> None:
    secret, digest = bytes(32), "ab" * 32
    sealed = token.seal_key(secret, digest, "one", random=lambda size: bytes(size))
    assert token.unseal_key(secret, sealed, "one") == digest
    assert digest not in sealed
    for other in (
        (secret, sealed, "two"),
        (b"\1" * 32, sealed, "one"),
        (secret, sealed[:-2], "one"),
        (secret, "", "one"),
    ):
        with pytest.raises(ValueError):
            token.unseal_key(*other)


def test_scopes_have_one_order() -> None:
    assert token.parse_scopes("") == frozenset()
    assert token.scope_text(token.parse_scopes("b a")) == "a b"
    with pytest.raises(ValueError):
        token.parse_scopes(" ".join(["scope"] * 400))
