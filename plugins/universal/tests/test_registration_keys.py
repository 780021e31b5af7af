"""A registrar's keys in a document: as multikeys or as JWKs."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from identity_universal.registration_create import own_keys
from nacl.signing import SigningKey

from identity_codec import multibase, multikey
from identity_core.errors import InvalidDocument

ED = bytes(SigningKey(bytes(32)).verify_key)
NUMBERS = ec.derive_private_key(7, ec.SECP256R1()).public_key().public_numbers()


def okp(crv: str, data: bytes) -> dict[str, Any]:
    return {"kty": "OKP", "crv": crv, "x": multibase.base64url_encode(data)}


def point() -> dict[str, Any]:
    x, y = (multibase.base64url_encode(number.to_bytes(32, "big")) for number in (NUMBERS.x, NUMBERS.y))
    return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


def method(jwk: Any, **more: Any) -> dict[str, Any]:
    return {"id": "#k", "type": "JsonWebKey2020", "publicKeyJwk": jwk} | more


@pytest.mark.parametrize(
    ("jwk", "kind", "text"),
    [
        (okp("Ed25519", ED), "Ed25519VerificationKey2020", multikey.encode_public(multikey.ED25519, ED)),
        (okp("X25519", b"\x09" + bytes(31)), "X25519KeyAgreementKey2020", None),
        (point(), "EcdsaSecp256r1VerificationKey2019", None),
    ],
)
def test_a_jwk_is_the_multikey_of_the_same_key(jwk: Any, kind: str, text: str | None) -> None:
    (found,) = own_keys([], {"verificationMethod": [method(jwk)], "assertionMethod": ["#k"]})
    assert (found["type"], found["purpose"]) == (kind, ["assertionMethod"])
    assert text is None or found["publicKeyMultibase"] == text
    if kind.startswith("Ecdsa"):
        raw = multikey.decode_public(found["publicKeyMultibase"])[1]
        assert raw == bytes([2 + NUMBERS.y % 2]) + NUMBERS.x.to_bytes(32, "big")


@pytest.mark.parametrize(
    "key",
    [
        method(okp("Ed25519", ED) | {"d": "AAAA"}),
        method(okp("Ed25519", bytes(32))),
        method(okp("Ed25519", ED[:31])),
        method(okp("Ed448", ED)),
        method({"kty": "EC", "crv": "P-256", "x": point()["x"]}),
        method(point() | {"y": point()["x"]}),
        method("text"),
        method(None),
        method(okp("Ed25519", ED), type="Ed25519VerificationKey2020"),
        method(okp("Ed25519", ED), publicKeyMultibase=multikey.encode_public(multikey.ED25519, ED)),
        method(okp("Ed25519", ED), type=["JsonWebKey"]),
        {"id": "#k", "type": "JsonWebKey2020"},
    ],
)
def test_unsupported_public_key_is_refused(key: dict[str, Any]) -> None:
    with pytest.raises(InvalidDocument) as error:
        own_keys([], {"verificationMethod": [key]})
    assert "AAAA" not in str(error.value) + str(error.value.details)
