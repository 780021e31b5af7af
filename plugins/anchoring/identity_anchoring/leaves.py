"""Leaves in the outbox: those of new proofs, and their revocations until the ledger has them or loses them again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from identity_verification.domain.received import proof_commitment

from identity_anchoring.batches import AnchorLeaf, Batch, BatchState, LeafState, LeaseLost, RevokedLeaf, next_status
from identity_codec.times import micros
from identity_core.database import Transaction
from identity_core.domain.proofs.stored import AnchorStatus, StoredProof
from identity_core.store.proofs import PROOFS
from identity_core.store.records import Table

LEAVES: Final = Table("anchor_leaves", AnchorLeaf)
REVOKING: Final = """
FROM anchor_leaves JOIN anchor_batches ON id = batch_id
WHERE anchor_leaves.state = 'revoking' AND anchor_batches.state <> 'failed' AND ledger = :ledger
"""
_REVOKING = f"SELECT {LEAVES.columns} {REVOKING} ORDER BY batch_id, proof_id LIMIT :limit"
_REVOKED = "UPDATE anchor_leaves SET state = 'revoked' WHERE proof_id = :proof_id AND state = 'revoking'"
_SHOW_REVOKED = "UPDATE proofs SET anchor_status = 'revoked', anchor_revoked_block = :block WHERE id = :proof_id"
_ALL_REVOKED = """
SELECT proof_id, commitment, anchor_revoked_block FROM proofs
JOIN anchor_leaves ON proof_id = proofs.id JOIN anchor_batches ON anchor_batches.id = batch_id
WHERE anchor_revoked_block IS NOT NULL AND (anchor_revoked_block, proofs.id) < (:block, :id) AND ledger = :ledger
ORDER BY anchor_revoked_block DESC, proofs.id DESC LIMIT :limit
"""
_MOVED = """
UPDATE proofs SET anchor_revoked_block = :block
WHERE id = :proof_id AND EXISTS (SELECT 1 FROM anchor_leaves WHERE proof_id = :proof_id AND state = 'revoked')
"""
_AGAIN = "UPDATE anchor_leaves SET state = :state WHERE proof_id = :proof_id AND state = 'revoked'"
_SHOW_AGAIN = """
UPDATE proofs SET anchor_status = :status, anchor_tx_hash = :tx_hash, anchor_block = :block, anchor_revoked_block = NULL
WHERE id = :proof_id
"""

_ADD_LEAF = """
INSERT INTO anchor_leaves (proof_id, commitment, queued_at, state) VALUES (:proof_id, :commitment, :queued_at, 'queued')
ON CONFLICT (proof_id) DO NOTHING
"""
# Not sealed yet: it never goes to a ledger, and nothing needs to be said there.
_WITHDRAW = "UPDATE anchor_leaves SET state = 'revoked' WHERE proof_id = :proof_id AND state = 'queued'"
_SHOW_WITHDRAWN = "UPDATE proofs SET anchor_status = 'revoked' WHERE id = :proof_id"
# What failed is on no ledger, and is not tried again once its proof is revoked.
_REVOKE_LEAF = """
UPDATE anchor_leaves SET state = 'revoking' WHERE proof_id = :proof_id AND state = 'batched'
AND batch_id IN (SELECT id FROM anchor_batches WHERE state <> 'failed')
"""

_FAILED = """
SELECT proof_id FROM anchor_leaves JOIN proofs ON id = proof_id
WHERE state = 'batched' AND batch_id IN (SELECT id FROM anchor_batches WHERE state = 'failed') AND revoked_at IS NULL
"""
_SHOW_PENDING = """
UPDATE proofs SET anchor_status = 'pending', anchor_tx_hash = NULL, anchor_block = NULL, anchor_details = NULL
"""
_SHOW_RETRIED = f"{_SHOW_PENDING} WHERE anchor_status = 'failed' AND id IN ({_FAILED})"
_RETRY = f"UPDATE anchor_leaves SET state = 'queued', queued_at = :now, batch_id = NULL WHERE proof_id IN ({_FAILED})"  # noqa: S608
_UNANCHORED = f"""
{PROOFS.select} WHERE anchor_status = 'pre-phase7' AND revoked_at IS NULL ORDER BY created_at, id LIMIT :limit
"""
_SHOW_BACKFILLED = f"{_SHOW_PENDING} WHERE id = :id AND anchor_status = 'pre-phase7'"
# Proofs that were revoked while the extension was off.
MISSED = """
SELECT proof_id FROM anchor_leaves JOIN proofs ON id = proof_id WHERE revoked_at IS NOT NULL AND (state = 'queued' OR (
state = 'batched' AND batch_id IN (SELECT id FROM anchor_batches WHERE state <> 'failed')))
"""

LAST_BLOCK: Final = 2**63 - 1
"""What is below it is everything."""


def add_leaf(transaction: Transaction, proof: StoredProof, now: datetime) -> None:
    """Queue the commitment to a proof."""
    row = {"commitment": proof_commitment(proof.proof, proof.salt), "queued_at": micros(now)}
    transaction.execute(_ADD_LEAF, {"proof_id": proof.id, **row})


def revoke_leaf(transaction: Transaction, proof_id: str) -> None:
    """Begin to revoke the anchor of a proof, if it has one. A second time changes nothing."""
    if transaction.execute(_WITHDRAW, {"proof_id": proof_id}).rowcount:
        transaction.execute(_SHOW_WITHDRAWN, {"proof_id": proof_id})
    else:
        transaction.execute(_REVOKE_LEAF, {"proof_id": proof_id})


def revoking(transaction: Transaction, ledger: str, limit: int) -> Sequence[AnchorLeaf]:
    """Return the leaves whose revocation is under way."""
    return [LEAVES.read(row) for row in transaction.execute(_REVOKING, {"ledger": ledger, "limit": limit}).fetchall()]


def revoked(transaction: Transaction, leaf: AnchorLeaf, block_number: int) -> None:
    """Note that the ledger has the revocation. Raises ``LeaseLost``."""
    _one(transaction.execute(_REVOKED, {"proof_id": leaf.proof_id}).rowcount)
    transaction.execute(_SHOW_REVOKED, {"proof_id": leaf.proof_id, "block": block_number})


def all_revoked(transaction: Transaction, ledger: str, below: RevokedLeaf | None, limit: int) -> Sequence[RevokedLeaf]:
    """Return the leaves whose revocation the ledger has, newest block first."""
    block, proof_id = (LAST_BLOCK, "") if below is None else (below.block_number, below.leaf.proof_id)
    row = {"ledger": ledger, "limit": limit, "block": block, "id": proof_id}
    return [RevokedLeaf(LEAVES.read(row[:2]), row[2]) for row in transaction.execute(_ALL_REVOKED, row).fetchall()]


def moved(transaction: Transaction, leaf: AnchorLeaf, block_number: int) -> None:
    """Note that the ledger has the revocation in another block. Raises ``LeaseLost``."""
    _one(transaction.execute(_MOVED, {"proof_id": leaf.proof_id, "block": block_number}).rowcount)


def undone(transaction: Transaction, leaf: AnchorLeaf, batch: Batch) -> None:
    """Note that the ledger no longer has the revocation. The receipt is that of ``batch``, which holds the leaf. Raises
    ``LeaseLost``."""
    # Of a batch that failed nothing is on the ledger, and nothing is to be revoked there.
    state = LeafState.BATCHED if batch.state is BatchState.FAILED else LeafState.REVOKING
    _one(transaction.execute(_AGAIN, {"proof_id": leaf.proof_id, "state": state.value}).rowcount)
    status = next_status(AnchorStatus.REVOKED, batch.anchor.status).value
    shown = {"status": status, "tx_hash": batch.tx_hash, "block": batch.block_number}
    transaction.execute(_SHOW_AGAIN, {"proof_id": leaf.proof_id, **shown})


def retry(transaction: Transaction, now: datetime) -> int:
    """Queue the leaves of all failed batches again, and return how many. A proof that was revoked meanwhile stays unchanged."""
    transaction.execute(_SHOW_RETRIED)
    return transaction.execute(_RETRY, {"now": micros(now)}).rowcount


def backfill(transaction: Transaction, now: datetime, limit: int) -> int:
    """Queue the oldest proofs from before anchoring existed, and return how many."""
    proofs = [PROOFS.read(row) for row in transaction.execute(_UNANCHORED, {"limit": limit}).fetchall()]
    for proof in proofs:
        if transaction.execute(_SHOW_BACKFILLED, {"id": proof.id}).rowcount:
            add_leaf(transaction, proof, now)
    return len(proofs)


def withdraw_missed(transaction: Transaction) -> None:
    """Begin the revocations of proofs that were revoked while the extension was off."""
    for (proof_id,) in transaction.execute(MISSED).fetchall():
        revoke_leaf(transaction, proof_id)


def _one(changed: int) -> None:
    if changed != 1:
        raise LeaseLost
