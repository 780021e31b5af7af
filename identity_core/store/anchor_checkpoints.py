"""The checkpoints of the ledger's own log that went into batches."""

from __future__ import annotations

import json

from identity_core.database import Transaction
from identity_core.domain.anchor_proof import AnchorPath
from identity_core.domain.anchored_checkpoint import AnchoredCheckpoint
from identity_core.domain.merkle.checkpoint import Checkpoint

_NEWEST = """
SELECT checkpoint, checkpoint_details, tx_hash, block FROM anchor_batches
WHERE state = 'confirmed' AND ledger = :ledger AND checkpoint IS NOT NULL ORDER BY id DESC LIMIT 1
"""


def newest(transaction: Transaction, ledger: str) -> AnchoredCheckpoint | None:
    """That of the newest confirmed batch on ``ledger`` which has one."""
    row = transaction.execute(_NEWEST, {"ledger": ledger}).fetchone()
    if row is None:
        return None
    text, details, tx_hash, block_number = row
    path = AnchorPath.parse(json.loads(bytes(details)))
    return AnchoredCheckpoint(Checkpoint.parse(bytes(text).decode()), path, tx_hash, block_number)
