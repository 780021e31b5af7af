"""did:jwk: the documents of its specification, and keys that are none."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest
from identity_did_jwk import DidJwk

from identity_core.domain.dids.did import Did
from identity_core.errors import InvalidDid
from plugins.did_jwk.tests.test_did_jwk_conformance import ED25519, P256, X25519, build_did

METHOD = DidJwk()
SIGNING = {"authentication", "assertionMethod", "capabilityInvocation", "capabilityDelegation"}
# The examples of https://github.com/quartzjer/did-jwk/blob/main/spec.md: P-256, and X25519 for encryption.
SPECIFIED = {
    "did:jwk:eyJjcnYiOiJQLTI1NiIsImt0eSI6IkVDIiwieCI6ImFjYklRaXVNczNpOF91c3pFakoydHBUdFJNNEVVM3l6OTFQSDZDZEgyVjAiLCJ5"
    "IjoiX0tjeUxqOXZXTXB0bm1LdG00NkdxRHo4d2Y3NEk1TEtncmwyR3pIM25TRSJ9": SIGNING | {"keyAgreement"},
    "did:jwk:eyJrdHkiOiJPS1AiLCJjcnYiOiJYMjU1MTkiLCJ1c2UiOiJlbmMiLCJ4IjoiM3A3YmZYdDl3YlRUVzJIQzdPUTFOei1EUThoYmVHZE5yZ"
    "ngtRkctSUswOCJ9": {"keyAgreement"},
}


def document(text: str) -> Any:
    return orjson.loads(METHOD.expand(Did.parse(text)).document.encoded)


@pytest.mark.parametrize("text", SPECIFIED)
def test_the_documents_of_the_specification(text: str) -> None:
    found, encoded = document(text), text.removeprefix("did:jwk:")
    key = orjson.loads(base64.urlsafe_b64decode(encoded + "=" * (-len(encoded) % 4)))
    method = {"id": f"{text}#0", "type": "JsonWebKey2020", "controller": text, "publicKeyJwk": key}
    contexts = ["https://www.w3.org/ns/did/v1", "https://w3id.org/security/suites/jws-2020/v1"]
    assert found == {"@context": contexts, "id": text, "verificationMethod": [method]} | {
        name: [f"{text}#0"] for name in SPECIFIED[text]
    }


@pytest.mark.parametrize(("use", "purposes"), [("sig", SIGNING), ("enc", {"keyAgreement"})])
def test_use_says_what_the_key_is_for(use: str, purposes: set[str]) -> None:
    found = document(build_did(P256 | {"use": use, "alg": "ES256", "kid": "k"}))
    assert found.keys() - {"@context", "id", "verificationMethod"} == purposes


@pytest.mark.parametrize(
    "more", [{"ext": True, "key_ops": ["verify"]}, {"x5t#S256": "AQAB", "https://hana.example/": 7}]
)
def test_members_that_are_not_understood_are_ignored(more: dict[str, Any]) -> None:
    """RFC 7517 §4. WebCrypto exports ``ext`` and ``key_ops``."""
    assert document(build_did(P256 | more))["verificationMethod"][0]["publicKeyJwk"] == P256 | more


OTHERS: list[dict[str, Any]] = [
    {"kty": "EC", "crv": "secp256k1", "x": "AQAB", "y": "AQAB"},
    {"kty": "EC", "crv": "P-384", "x": "AQAB", "y": "AQAB", "use": "sig"},
    {"kty": "RSA", "n": "AQAB", "e": "AQAB", "use": "enc"},
    {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AQAB", "use": "attestation"},
    {"kty": "EC", "crv": ["P-521"], "use": ["sig"]},
]


@pytest.mark.parametrize("key", OTHERS)
def test_a_public_key_of_any_kind_is_shown(key: dict[str, Any]) -> None:
    """Every JWK has a DID (did:jwk, "Create"); ``use`` decides for ``sig`` and ``enc`` alone."""
    found = document(build_did(key))
    assert found["verificationMethod"][0]["publicKeyJwk"] == key
    purposes = {"sig": SIGNING, "enc": {"keyAgreement"}}.get(str(key.get("use")), SIGNING | {"keyAgreement"})
    assert found.keys() - {"@context", "id", "verificationMethod"} == purposes


@pytest.mark.parametrize(
    "key",
    [
        ED25519 | {"d": "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"},
        ED25519 | {"x": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
        X25519 | {"x": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"},
        ED25519 | {"x": ED25519["x"][:-1]},
        ED25519 | {"x": ED25519["x"] + "="},
        ED25519 | {"x": 7},
        ED25519 | {"crv": "P-256"},
        ED25519 | {"use": "other"},
        ED25519 | {"key_ops": "verify"},
        ED25519 | {"key_ops": [7]},
        ED25519 | {"k": "AQAB"},
        P256 | {"y": P256["x"]},
        P256 | {"x": "A" * 43, "y": "A" * 43},
        {"kty": "EC", "crv": "P-256", "x": P256["x"]},
        {"kty": "RSA", "n": "AQAB", "e": "AQAB", "d": "AQAB"},
        {"kty": "AKP", "alg": "ML-DSA-44", "pub": "AQAB", "priv": "AQAB"},
        {"kty": "oct", "k": "AQAB"},
        {"crv": "Ed25519", "x": ED25519["x"]},
        {"kty": 1},
        b'{"kty":"OKP","kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}',
        b'{"kty":"\xff"}',
    ],
)
def test_invalid_public_key_is_refused_and_not_repeated(key: Any) -> None:
    text = build_did(key)
    with pytest.raises(InvalidDid) as refused:
        METHOD.check(Did.parse(text))
    assert text.removeprefix("did:jwk:") not in str(refused.value) + repr(refused.value.details)
