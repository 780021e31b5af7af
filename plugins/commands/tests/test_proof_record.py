"""Proofs from before anchoring, as they are imported."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from identity_commands.proof_import import NotARecord, proof_of_record, read_zk_proof

from identity_core.domain.proofs.stored import ProofRevocation

ID = "0b1f5e0a-52ff-4d4f-9f8e-3f2f1f7b5c11"
ZK: dict[str, Any] = {"proof": "cHJvb2Y", "publicSignals": ["a", "b"], "predicateType": "gte", "proofId": ID}
RECORD: dict[str, Any] = {
    "proofId": ID,
    "proof": ZK,
    "delegationId": "d-1",
    "holderDid": "did:ids:h",
    "agentDid": "did:ids:a",
    "credentialId": "c-1",
    "issuerDid": "did:ids:i",
    "schemaId": "s-1",
    "predicate": {"attributeName": "age", "type": "gte", "value": 18},
    "createdAt": "2026-01-02T03:04:05Z",
    "expiresAt": "2026-01-02T04:04:05Z",
    "anchor": {"status": "pre-phase7"},
}
SALT = bytes(32)
TEXTS = ["delegationId", "holderDid", "agentDid", "credentialId", "issuerDid", "schemaId"]


def test_a_record_is_read() -> None:
    bare = proof_of_record(RECORD, SALT)
    assert (bare.proof.proof, bare.proof.public_signals) == ("cHJvb2Y", ("a", "b"))
    assert (bare.proof.predicate_type, bare.proof.proof_id) == ("gte", ID)
    assert (bare.delegation_id, bare.holder, bare.agent) == ("d-1", "did:ids:h", "did:ids:a")
    assert (bare.credential_id, bare.issuer, bare.schema_id) == ("c-1", "did:ids:i", "s-1")
    assert bare.predicate == {"attributeName": "age", "type": "gte", "value": 18}
    assert (bare.challenge, bare.domain, bare.revocation) == (None,) * 3
    assert bare.created_at == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert bare.expires_at == datetime(2026, 1, 2, 4, 4, 5, tzinfo=UTC)
    more = {
        "challenge": "c",
        "domain": "d",
        "revokedAt": "2026-01-02T03:30:00Z",
        "revocationReason": "lost",
        "anchor": None,
    }
    full = proof_of_record(RECORD | more, SALT)
    assert (full.challenge, full.domain) == ("c", "d")
    assert full.revocation == ProofRevocation(datetime(2026, 1, 2, 3, 30, tzinfo=UTC), "import", "lost")


@pytest.mark.parametrize("value", [None, [], "x", 1, [RECORD]], ids=repr)
def test_value_that_is_no_object_is_no_record(value: object) -> None:
    with pytest.raises(NotARecord, match="not an object"):
        proof_of_record(value, SALT)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_have_1_to_2048_characters(name: str) -> None:
    for good in ("x", "x" * 2048):
        proof_of_record(RECORD | {name: good}, SALT)
    for bad in ("", "x" * 2049, None, 1, ["x"]):
        with pytest.raises(NotARecord, match=f"{name} is not text of at most 2048"):
            proof_of_record(RECORD | {name: bad}, SALT)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"anchor": {"status": "confirmed"}}, "anchor"),
        ({"anchor": {}}, "anchor"),
        ({"anchor": "pre-phase7"}, "anchor"),
        ({"predicate": None}, "predicate"),
        ({"predicate": "gte"}, "predicate"),
        ({"predicate": {"attributeName": "age", "type": "gte"}}, "predicate is not an object with a value"),
        ({"predicate": {"type": "gte", "value": 18}}, "attributeName"),
        ({"predicate": {"attributeName": "age", "type": 1, "value": 18}}, "type"),
        ({"createdAt": None}, "createdAt"),
        ({"createdAt": "2026-01-02"}, "createdAt"),
        ({"expiresAt": 1}, "expiresAt"),
        ({"revokedAt": 1}, "revokedAt"),
        ({"revokedAt": ""}, "revokedAt"),
        ({"challenge": ""}, "challenge"),
        ({"domain": 1}, "domain"),
        ({"revocationReason": ""}, "revocationReason"),
        ({"proofId": "0b1f5e0a-52ff-4d4f-9f8e-3f2f1f7b5c12"}, "proofId"),
        ({"proof": None}, "proof is not a ZKProof"),
        ({"proof": [ZK]}, "proof is not a ZKProof"),
        ({"proof": ZK | {"proof": ""}}, "proof is not a ZKProof"),
        ({"proof": ZK | {"proof": 1}}, "proof is not a ZKProof"),
        ({"proof": ZK | {"publicSignals": "ab"}}, "publicSignals"),
        ({"proof": ZK | {"publicSignals": None}}, "publicSignals"),
        ({"proof": ZK | {"publicSignals": ["a", 1]}}, "publicSignals"),
        ({"proof": ZK | {"predicateType": ""}}, "predicateType"),
        ({"proof": ZK | {"proofId": ID.upper()}}, "proofId"),
        ({"proof": ZK | {"proofId": "x"}}, "proofId"),
        ({"proof": ZK | {"proofId": None}}, "proofId"),
    ],
    ids=str,
)
def test_malformed_member_is_named(change: dict[str, Any], says: str) -> None:
    with pytest.raises(NotARecord, match=says):
        proof_of_record(RECORD | change, SALT)


def test_the_record_need_not_repeat_the_id_of_its_proof() -> None:
    assert read_zk_proof({"proof": ZK}).proof_id == ID
    assert read_zk_proof({"proof": ZK | {"publicSignals": []}, "proofId": None}).public_signals == ()
