"""Compact JWSs and keys: the examples of the standards, and what has two readings."""

from __future__ import annotations

from typing import Any

import pytest

from identity_codec import multibase, multikey
from identity_codec.jose import CompactJws, JoseKey, signing_input

# RFC 7515 §A.3.
ES256_KEY = {
    "kty": "EC",
    "crv": "P-256",
    "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
    "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
}
ES256 = (
    "eyJhbGciOiJFUzI1NiJ9."
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ."
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q"
)
# RFC 8037 §A.1, §A.3.
ED25519_KEY = {"kty": "OKP", "crv": "Ed25519", "x": "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}
ED25519_THUMBPRINT = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


member = multibase.base64url_encode


def parse_jws(text: str) -> CompactJws:
    return CompactJws.open(text, longest=4_096)


def test_the_jws_of_the_standard_verifies_under_its_key_alone() -> None:
    key = JoseKey.of_jwk(ES256_KEY)
    key.verify(parse_jws(ES256))
    assert key.jwk == ES256_KEY
    with pytest.raises(ValueError, match="signature"):
        key.verify(parse_jws(ES256[:-4] + "AAAA"))
    with pytest.raises(ValueError, match="alg"):
        JoseKey.of_jwk(ED25519_KEY).verify(parse_jws(ES256))


def test_the_thumbprint_of_the_standard() -> None:
    assert JoseKey.of_jwk(ED25519_KEY).thumbprint == ED25519_THUMBPRINT


def test_a_key_is_the_same_by_its_multikey() -> None:
    for value in (ES256_KEY, ED25519_KEY):
        key = JoseKey.of_jwk(value)
        assert JoseKey.of_multikey(multikey.encode_public(key.kind, key.raw)) == key


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"kty": "oct", "k": "AA"},
        ES256_KEY | {"d": "AA"},
        ES256_KEY | {"use": "enc"},
        ES256_KEY | {"y": ES256_KEY["x"]},
        ES256_KEY | {"crv": "P-384"},
        {"kty": "OKP", "crv": "X25519", "x": ED25519_KEY["x"]},
        {"kty": "OKP", "crv": "Ed25519", "x": multibase.base64url_encode(bytes(32))},
    ],
)
def test_encryption_key_is_refused(value: object) -> None:
    with pytest.raises(ValueError):
        JoseKey.of_jwk(value)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "..",
        "a.b",
        ES256 + ".x",
        ES256 + "=",
        ES256.replace(".", "..", 1),
        signing_input({"alg": "ES256", "crit": ["b64"], "b64": False}, {}) + ".AA",
        f"{member(b'[]')}.{member(b'{}')}.AA",
        f"{member(b'{}')}.{member(b'7')}.AA",
        member(b"{}") + "." + member(b'{"a":1,"a":2}') + ".AA",
        ES256 + "A" * 4_096,
    ],
)
def test_a_text_of_two_readings_is_no_jws(text: str) -> None:
    with pytest.raises(ValueError):
        parse_jws(text)


def test_a_type_may_have_its_first_half() -> None:
    for typ in ("dc+sd-jwt", "application/dc+sd-jwt", "DC+SD-JWT"):
        parse_jws(signing_input({"typ": typ}, {}) + ".AA").check_type("dc+sd-jwt")
    for other in ("sd-jwt", "text/dc+sd-jwt", "", None, 7, ["dc+sd-jwt"]):
        with pytest.raises(ValueError, match="typ"):
            parse_jws(signing_input({"typ": other}, {}) + ".AA").check_type("dc+sd-jwt")


@pytest.mark.parametrize(
    ("members", "is_accepted"),
    [
        ({"ext": True, "key_ops": ["verify"], "alg": "ES256"}, True),
        ({"use": "sig"}, True),
        ({"key_ops": ["sign"]}, False),
        ({"key_ops": []}, False),
        ({"alg": "ES384"}, False),
        ({"use": "enc"}, False),
    ],
)
def test_jwk_verifies_only_what_its_members_allow(members: dict[str, Any], is_accepted: bool) -> None:
    """RFC 7517 §4.2 to §4.4."""
    # RFC 7515 appendix A.3.
    key = {
        "kty": "EC",
        "crv": "P-256",
        "x": "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU",
        "y": "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0",
    }
    if is_accepted:
        assert JoseKey.of_jwk(key | members).kind == multikey.P256
    else:
        with pytest.raises(ValueError, match="not a key that signs"):
            JoseKey.of_jwk(key | members)
