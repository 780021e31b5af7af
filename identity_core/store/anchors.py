"""The anchor receipts of stored proofs, for whatever shows rows about proofs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from identity_core.database import Transaction
from identity_core.domain.anchor import Anchor, AnchorStatus

_SELECT = "SELECT id, anchor_status, anchor_tx_hash, anchor_block, anchor_revoked_block FROM proofs"


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
