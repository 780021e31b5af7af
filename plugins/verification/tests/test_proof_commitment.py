"""The commitment to a proof, which is anchored."""

from __future__ import annotations

import hashlib

from identity_verification.domain.received import proof_commitment

from identity_codec import jcs
from identity_codec.structs import plain
from identity_codec.values import replace
from identity_core.api.proofs import zk_proof
from identity_core.domain.proofs.proof import ZkProof
from identity_tlog.anchored import checkpoint_commitment

PROOF = ZkProof("envelope", ("a", "b"), "gte", "4f0c1b8e-6f1a-4c52-9a0e-3d3a1d7c9b21")
SALT = bytes(range(32))


def test_the_commitment_is_what_the_document_says() -> None:
    value = {
        "proof": "envelope",
        "publicSignals": ["a", "b"],
        "predicateType": "gte",
        "proofId": PROOF.proof_id,
    }
    assert plain(zk_proof(PROOF)) == value
    digest = hashlib.sha256(jcs.canonicalize(value)).digest()
    said = b"identity-anchor-proof v1\0" + SALT + digest
    assert proof_commitment(PROOF, SALT) == hashlib.sha256(said).digest()


def test_commitments_of_different_things_differ() -> None:
    made = {
        proof_commitment(PROOF, SALT),
        proof_commitment(PROOF, SALT[::-1]),
        proof_commitment(replace(PROOF, proof="another"), SALT),
        proof_commitment(replace(PROOF, public_signals=("ab",)), SALT),
        proof_commitment(replace(PROOF, predicate_type="gt"), SALT),
        proof_commitment(replace(PROOF, proof_id="x"), SALT),
        checkpoint_commitment(b"envelope"),
    }
    assert len(made) == 7
