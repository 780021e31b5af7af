"""A document whose keys are asked for as Multikeys."""

from __future__ import annotations

from typing import Any

import pytest
from identity_universal.identifiers import with_multikeys

from identity_core.domain.dids.keys import KEY_TYPES, MULTIKEY_CONTEXT

DID = "did:example:hana"
V1 = "https://www.w3.org/ns/did/v1"
SUITES = [kind.context for kind in KEY_TYPES.values()]


def method(kind: Any, **more: Any) -> dict[str, Any]:
    return {"id": f"{DID}#z1", "type": kind, "controller": DID, "publicKeyMultibase": "z1", **more}


def test_each_key_type_becomes_multikey() -> None:
    methods = [method(kind, revoked="2026-01-01T00:00:00Z") for kind in KEY_TYPES]
    document = {
        "@context": [V1, *SUITES, "https://x.example"],
        "id": DID,
        "verificationMethod": methods,
        "authentication": [f"{DID}#z1"],
    }
    found = with_multikeys(document)
    assert found["@context"] == [V1, MULTIKEY_CONTEXT, "https://x.example"]
    assert found["verificationMethod"] == [one | {"type": "Multikey"} for one in methods]
    assert {**found, "@context": document["@context"], "verificationMethod": methods} == document
    assert methods[0]["type"] != "Multikey"


def test_a_key_that_stands_where_it_is_used() -> None:
    document = {"@context": V1, "id": DID, "keyAgreement": [method("X25519KeyAgreementKey2020"), f"{DID}#z1"]}
    found = with_multikeys(document)
    assert found["keyAgreement"] == [method("Multikey"), f"{DID}#z1"]
    assert found["@context"] == [V1, MULTIKEY_CONTEXT]


@pytest.mark.parametrize(
    "methods",
    [
        [], "x", None, [None, 1, "x", []], [method("JsonWebKey"), method(["Ed25519VerificationKey2020"]), method({})],
        [method("Multikey")], [{"id": f"{DID}#0", "type": "Ed25519VerificationKey2020", "publicKeyJwk": {}}],
    ],
)  # fmt: skip
def test_other_verification_method_is_unchanged(methods: Any) -> None:
    document = {"@context": [V1, SUITES[0]], "id": DID, "verificationMethod": methods, "assertionMethod": {"x": 1}}
    assert with_multikeys(document) == document


@pytest.mark.parametrize("said", [V1, [V1], [V1, {"x": "https://x.example/"}], [V1, MULTIKEY_CONTEXT], [], {"x": "y"}])
def test_whatever_the_context_is(said: Any) -> None:
    document = {"@context": said, "id": DID, "verificationMethod": [method("Ed25519VerificationKey2020")]}
    contexts = with_multikeys(document)["@context"]
    assert contexts.count(MULTIKEY_CONTEXT) == 1
    assert contexts[1 if said else 0] == MULTIKEY_CONTEXT
    assert [one for one in contexts if one != MULTIKEY_CONTEXT] == [
        one for one in (said if isinstance(said, list) else [said]) if one != MULTIKEY_CONTEXT
    ]
