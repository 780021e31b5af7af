"""Leaves of the outbox, as the transactions of proofs write them: queued with the proof, revoked with its revocation."""

from __future__ import annotations

from datetime import datetime

from identity_core.database import Transaction
from identity_core.domain.anchor_proof import proof_commitment
from identity_core.ports.proofs import StoredProof
from identity_core.store.times import micros

_ADD = """
INSERT INTO anchor_leaves (proof_id, commitment, queued_at, state) VALUES (:proof_id, :commitment, :queued_at, 'queued')
ON CONFLICT (proof_id) DO NOTHING
"""
# Not sealed yet: it never goes to a ledger, and nothing needs to be said there.
_WITHDRAW = "UPDATE anchor_leaves SET state = 'revoked' WHERE proof_id = :proof_id AND state = 'queued'"
_SHOW_WITHDRAWN = "UPDATE proofs SET anchor_status = 'revoked' WHERE id = :proof_id"
# What failed is on no ledger, and is not tried again once its proof is revoked.
_REVOKE = """
UPDATE anchor_leaves SET state = 'revoking' WHERE proof_id = :proof_id AND state = 'batched'
AND batch_id IN (SELECT id FROM anchor_batches WHERE state <> 'failed')
"""


def add_leaf(transaction: Transaction, proof: StoredProof, now: datetime) -> None:
    """Queues the commitment to a proof."""
    row = {"commitment": proof_commitment(proof.proof, proof.salt), "queued_at": micros(now)}
    transaction.execute(_ADD, {"proof_id": proof.id, **row})


def revoke_leaf(transaction: Transaction, proof_id: str) -> None:
    """Begins to take the anchor of a proof back, if it has one. A second time changes nothing."""
    if transaction.execute(_WITHDRAW, {"proof_id": proof_id}).rowcount:
        transaction.execute(_SHOW_WITHDRAWN, {"proof_id": proof_id})
    else:
        transaction.execute(_REVOKE, {"proof_id": proof_id})
