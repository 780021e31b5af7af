"""The holder's signature under a delegation: this request, this purpose, a key that may delegate now."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_client.data_integrity import proof_input
from identity_codec import ed25519, multibase
from identity_codec.values import replace
from identity_core.domain.delegations.delegation import check_holder_proof
from identity_core.domain.dids import keys
from identity_core.domain.dids.document import DidDocument, VerificationMethod
from identity_core.errors import DelegationInvalid

NOW = datetime(2026, 1, 5, 9, tzinfo=UTC)
DID = "did:ids:hana"
KEY = f"{DID}#key-1"
PAIR = keys.generate("Ed25519", lambda n: b"\x01" * n)
METHOD = VerificationMethod(KEY, keys.ED25519.name, PAIR.public)
DOCUMENT = DidDocument(DID, (METHOD,), ((keys.CAPABILITY_DELEGATION, (KEY,)),))
REQUEST: dict[str, Any] = {"holderDid": DID, "agentDid": "did:ids:aki", "autonomyLevel": 2, "purpose": "é"}
CONFIG: dict[str, Any] = {
    "type": "DataIntegrityProof",
    "cryptosuite": "eddsa-jcs-2022",
    "created": "2026-01-05T09:00:00Z",
    "verificationMethod": KEY,
    "proofPurpose": "capabilityDelegation",
}


def signed(config: dict[str, Any] = CONFIG, request: dict[str, Any] = REQUEST) -> dict[str, Any]:
    signature = ed25519.sign(PAIR.secret_raw, proof_input(config, request))
    return {**config, "proofValue": multibase.base58btc_encode(signature)}


def refused(proof: dict[str, Any], request: dict[str, Any] = REQUEST, document: DidDocument = DOCUMENT) -> None:
    with pytest.raises(DelegationInvalid) as refusal:
        check_holder_proof(proof, request, document, NOW)
    assert refusal.value.details["member"] == "holderProof"


def test_the_holder_signed_this() -> None:
    check_holder_proof(signed(), REQUEST, DOCUMENT, NOW)
    check_holder_proof(signed(), dict(reversed(REQUEST.items())), DOCUMENT, NOW)


@pytest.mark.parametrize("member", list(REQUEST))
def test_another_request_is_not_signed(member: str) -> None:
    refused(signed(), REQUEST | {member: "another"})
    refused(signed(), {name: value for name, value in REQUEST.items() if name != member})


@pytest.mark.parametrize("member", list(CONFIG))
def test_another_configuration_is_not_signed(member: str) -> None:
    refused(signed() | {member: "another"})
    refused(signed(CONFIG | {member: "another"}))


@pytest.mark.parametrize(
    "value", ["", "z", "z1", "u" + "A" * 86, "z" + "1" * 300, multibase.base58btc_encode(bytes(64))]
)
def test_malformed_signature_is_refused(value: str) -> None:
    refused(signed() | {"proofValue": value})


@pytest.mark.parametrize(
    "document",
    [
        DidDocument(DID, (METHOD,), ((keys.AUTHENTICATION, (KEY,)),)),
        DidDocument(DID, (replace(METHOD, revoked=NOW),), DOCUMENT.relationships),
        DidDocument(DID, (), DOCUMENT.relationships),
        DidDocument(DID, (replace(METHOD, multibase=keys.generate("Ed25519", bytes).public),), DOCUMENT.relationships),
        DidDocument(DID, (VerificationMethod(KEY, keys.X25519.name, PAIR.public),), DOCUMENT.relationships),
    ],
    ids=["not to delegate", "revoked", "gone", "another key", "another type"],
)
def test_the_key_may_delegate_now(document: DidDocument) -> None:
    refused(signed(), document=document)


def test_a_key_in_grace_still_may() -> None:
    ending = replace(METHOD, revoked=NOW + timedelta(seconds=1))
    check_holder_proof(signed(), REQUEST, replace(DOCUMENT, methods=(ending,)), NOW)
