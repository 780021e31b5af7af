"""The compact anchor receipt, as delegated-proof results, verification history and timeline all embed it."""

from __future__ import annotations

from identity_core.domain.anchor import Anchor
from identity_core.domain.errors import JsonValue


def anchor(receipt: Anchor | None) -> dict[str, JsonValue] | None:
    """``Anchor`` of the document: exactly its four members, or null where there is none."""
    if receipt is None:
        return None
    return {
        "status": receipt.status.value,
        "txHash": receipt.tx_hash,
        "blockNumber": receipt.block_number,
        "revokedBlock": receipt.revoked_block,
    }
