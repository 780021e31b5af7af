"""Proofs that go into the outbox once more: those of failed batches, and those from before anchoring existed."""

from __future__ import annotations

from datetime import datetime

from identity_core.database import Transaction
from identity_core.store.anchor_leaves import add_leaf
from identity_core.store.proofs import oldest_unanchored
from identity_core.store.times import micros

_FAILED = """
SELECT proof_id FROM anchor_leaves JOIN proofs ON id = proof_id
WHERE state = 'batched' AND batch_id IN (SELECT id FROM anchor_batches WHERE state = 'failed') AND revoked_at IS NULL
"""
_SHOW_PENDING = """
UPDATE proofs SET anchor_status = 'pending', anchor_tx_hash = NULL, anchor_block = NULL, anchor_details = NULL
"""
_SHOW_RETRIED = f"{_SHOW_PENDING} WHERE anchor_status = 'failed' AND id IN ({_FAILED})"
_RETRY = f"UPDATE anchor_leaves SET state = 'queued', queued_at = :now, batch_id = NULL WHERE proof_id IN ({_FAILED})"  # noqa: S608
_SHOW_BACKFILLED = f"{_SHOW_PENDING} WHERE id = :id AND anchor_status = 'pre-phase7'"


def retry(transaction: Transaction, now: datetime) -> int:
    """Queues the leaves of all failed batches again; how many."""
    transaction.execute(_SHOW_RETRIED)
    return transaction.execute(_RETRY, {"now": micros(now)}).rowcount


def backfill(transaction: Transaction, now: datetime, limit: int) -> int:
    """Queues the oldest proofs from before anchoring existed; how many."""
    proofs = oldest_unanchored(transaction, limit)
    for proof in proofs:
        if transaction.execute(_SHOW_BACKFILLED, {"id": proof.id}).rowcount:
            add_leaf(transaction, proof, now)
    return len(proofs)
