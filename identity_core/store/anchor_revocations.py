"""Revocations of leaves in the outbox, from when they are asked for until the ledger has them, and back when it has them no longer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from identity_core.database import Transaction
from identity_core.domain.ledger.anchoring import AnchorStatus, Batch, BatchState, LeafState
from identity_core.ports.anchoring import AnchorLeaf, LeaseLost, RevokedLeaf
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

LAST_BLOCK: Final = 2**63 - 1
"""What is below it is everything."""


def revoking(transaction: Transaction, ledger: str, limit: int) -> Sequence[AnchorLeaf]:
    """The leaves whose revocation is on the way."""
    return [LEAVES.read(row) for row in transaction.execute(_REVOKING, {"ledger": ledger, "limit": limit}).fetchall()]


def revoked(transaction: Transaction, leaf: AnchorLeaf, block_number: int) -> None:
    """The ledger has it. Raises ``LeaseLost``."""
    _one(transaction.execute(_REVOKED, {"proof_id": leaf.proof_id}).rowcount)
    transaction.execute(_SHOW_REVOKED, {"proof_id": leaf.proof_id, "block": block_number})


def all_revoked(transaction: Transaction, ledger: str, below: RevokedLeaf | None, limit: int) -> Sequence[RevokedLeaf]:
    """The leaves whose revocation the ledger has, newest block first."""
    block, proof_id = (LAST_BLOCK, "") if below is None else (below.block_number, below.leaf.proof_id)
    row = {"ledger": ledger, "limit": limit, "block": block, "id": proof_id}
    return [RevokedLeaf(LEAVES.read(row[:2]), row[2]) for row in transaction.execute(_ALL_REVOKED, row).fetchall()]


def moved(transaction: Transaction, leaf: AnchorLeaf, block_number: int) -> None:
    """The ledger has it in another block. Raises ``LeaseLost``."""
    _one(transaction.execute(_MOVED, {"proof_id": leaf.proof_id, "block": block_number}).rowcount)


def undone(transaction: Transaction, leaf: AnchorLeaf, batch: Batch) -> None:
    """The ledger has it no longer: the receipt is that of ``batch``, in which the leaf is. Raises ``LeaseLost``."""
    # Of a batch that failed nothing is on the ledger, and nothing is to be revoked there.
    state = LeafState.BATCHED if batch.state is BatchState.FAILED else LeafState.REVOKING
    _one(transaction.execute(_AGAIN, {"proof_id": leaf.proof_id, "state": state.value}).rowcount)
    status = AnchorStatus.REVOKED.to(batch.anchor.status).value
    shown = {"status": status, "tx_hash": batch.tx_hash, "block": batch.block_number}
    transaction.execute(_SHOW_AGAIN, {"proof_id": leaf.proof_id, **shown})


def _one(changed: int) -> None:
    if changed != 1:
        raise LeaseLost
