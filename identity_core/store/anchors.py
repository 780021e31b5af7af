"""The anchor receipts of stored proofs, for whatever shows rows about proofs.

What is decided stands in the proof's own row; while it is pending, transaction and block are those of its batch, so that a step of a batch
on its way is one row and not ten thousand. A revoked one reads its batch too, which goes on without it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

from identity_core.database import Transaction
from identity_core.domain.anchor import Anchor, AnchorStatus

_OF_BATCH = """
CASE WHEN anchor_status IN ('pending', 'revoked') THEN
(SELECT {} FROM anchor_batches WHERE anchor_batches.id = (SELECT batch_id FROM anchor_leaves WHERE proof_id = proofs.id))
ELSE {} END
"""
TX_HASH: Final = _OF_BATCH.format("tx_hash", "anchor_tx_hash")
BLOCK: Final = _OF_BATCH.format("block", "anchor_block")
"""What to select of ``proofs`` for a receipt."""

_SELECT = f"SELECT id, anchor_status, {TX_HASH}, {BLOCK}, anchor_revoked_block FROM proofs"  # noqa: S608  (its own text)


def anchors_of(transaction: Transaction, proof_ids: Collection[str | None]) -> Mapping[str, Anchor]:
    """The receipts of those proofs that are stored and have one, in one statement."""
    names = {f"id{number}": each for number, each in enumerate(sorted({one for one in proof_ids if one}))}
    if not names:
        return {}
    # Nothing but the names of parameters goes into the text.
    wanted = ", ".join(f":{name}" for name in names)
    rows = transaction.execute(f"{_SELECT} WHERE anchor_status IS NOT NULL AND id IN ({wanted})", names).fetchall()
    return {row[0]: _anchor(*row[1:]) for row in rows}


def _anchor(status: str, tx_hash: Any, block: int | None, revoked_block: int | None) -> Anchor:
    return Anchor(AnchorStatus(status), tx_hash, block, revoked_block)
