"""The issuer's key comes from the issuer's document, or not at all."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any

import pytest

from identity_client.issuer_key import MANY_KEYS, assertion_key, assertion_multikey, has_many_keys, signing_keys
from identity_codec import multikey, p256
from identity_codec.jose import JoseKey
from identity_core.domain.dids.did import controller_of
from identity_core.errors import InvalidDid

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DID = "did:ids:ivo"
RAW = bytes(range(96))
KEY = multikey.encode_public(multikey.BLS12381G2, RAW)
METHOD = f"{DID}#{KEY}"


def document(**change: Any) -> dict[str, Any]:
    method = {"id": METHOD, "type": "Bls12381G2Key2020", "controller": DID, "publicKeyMultibase": KEY}
    return {"id": DID, "verificationMethod": [method | change], "assertionMethod": [METHOD]}


def test_the_key_that_the_document_asserts_by() -> None:
    assert assertion_key(document(), METHOD, NOW) == RAW
    assert assertion_key(document(revoked="2026-01-01T00:00:01Z"), METHOD, NOW) == RAW


def test_a_key_that_the_document_has_as_a_jwk() -> None:
    raw = p256.public_key(b"\x07" * 32)
    method = {"id": METHOD, "type": "JsonWebKey", "controller": DID, "publicKeyJwk": JoseKey(multikey.P256, raw).jwk}
    said = {"id": DID, "verificationMethod": [method], "assertionMethod": [METHOD]}
    assert assertion_multikey(said, METHOD, NOW) == multikey.encode_public(multikey.P256, raw)
    for broken in (
        {},
        {"kty": "EC", "crv": "P-256", "x": "AA", "y": "AA"},
        JoseKey(multikey.P256, raw).jwk | {"d": "AA"},
    ):
        with pytest.raises(ValueError):
            assertion_multikey(said | {"verificationMethod": [method | {"publicKeyJwk": broken}]}, METHOD, NOW)
    with pytest.raises(ValueError):
        assertion_key(said, METHOD, NOW)


@pytest.mark.parametrize("name", [METHOD, f"#{KEY}"])
def test_a_key_may_stand_where_it_is_used(name: str) -> None:
    """DID Core §5.3: such a method is for this relationship, and another one of its name is not in its place."""
    method = document(id=name)["verificationMethod"][0]
    embedded = {"id": DID, "assertionMethod": [method]}
    assert assertion_key(embedded, METHOD, NOW) == RAW
    assert signing_keys(embedded, NOW) == 1
    with pytest.raises(ValueError):
        assertion_key({"id": DID, "authentication": [method], "assertionMethod": [METHOD]}, METHOD, NOW)
    with pytest.raises(ValueError):
        assertion_key(document() | {"assertionMethod": [method | {"publicKeyMultibase": "z6Mk"}]}, METHOD, NOW)


def test_many_references_take_no_time_of_their_square() -> None:
    """10,000 references of 6 bytes fit into a document of did:web; each was compared with each."""
    references = [*(f"#{number}" for number in range(10_000)), METHOD]
    started = time.process_time()
    assert not has_many_keys(document() | {"assertionMethod": references}, NOW)
    assert time.process_time() - started < 1


def test_relative_references_are_the_documents_own() -> None:
    relative = document(id=f"#{KEY}") | {"assertionMethod": [f"#{KEY}"]}
    assert assertion_key(relative, METHOD, NOW) == RAW
    with pytest.raises(ValueError, match="does not assert"):
        assertion_key(relative, f"did:ids:mallory#{KEY}", NOW)


@pytest.mark.parametrize(
    "broken",
    [
        document() | {"assertionMethod": []},
        document() | {"assertionMethod": [f"{DID}#other"]},
        document() | {"assertionMethod": METHOD},
        document() | {"assertionMethod": [{"id": METHOD}]},
        document() | {"verificationMethod": []},
        document() | {"verificationMethod": [METHOD]},
        {"id": DID},
        document(controller="did:ids:mallory"),
        document(publicKeyMultibase=None),
        document(publicKeyMultibase="z6Mk"),
        document(publicKeyMultibase=multikey.encode_public(multikey.ED25519, bytes(32))),
        document(revoked="2026-01-01T00:00:00Z"),
        document(revoked="some day"),
    ],
)
def test_no_other_key(broken: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        assertion_key(broken, METHOD, NOW)


@pytest.mark.parametrize("text", ["", "#k", "did:ids:ivo", "did:ids:ivo#", "ivo#k", "did:IDS:ivo#k"])
def test_a_method_that_nobody_can_look_up(text: str) -> None:
    with pytest.raises(InvalidDid):
        controller_of(text)


def test_the_controller() -> None:
    assert str(controller_of(METHOD)) == DID


def test_keys_in_force_are_counted_once() -> None:
    end = "2026-01-01T00:00:00Z"
    assert signing_keys(document(), NOW) == 1
    assert signing_keys(document() | {"assertionMethod": [METHOD, METHOD, f"#{KEY}", "#x", 1]}, NOW) == 1
    assert signing_keys(document(revoked=end), NOW) == 0
    assert signing_keys(document() | {"assertionMethod": "x"}, NOW) == 0
    assert MANY_KEYS == 4
