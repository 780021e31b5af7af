"""The compact anchor receipt, as delegated-proof results, verification history and timeline all embed it; and what stands behind it,
for those who may see the proof."""

from __future__ import annotations

import json

from identity_core.codec.multibase import base64url_encode
from identity_core.domain.anchor import Anchor
from identity_core.domain.anchor_proof import proof_commitment
from identity_core.errors import JsonValue
from identity_core.ports.proofs import StoredProof


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


def details(stored: StoredProof) -> dict[str, JsonValue] | None:
    """``AnchorDetails`` of the document: with them and the proof anybody can follow the path to the root that the ledger has. Null while
    the proof is in no batch."""
    if stored.anchor_details is None:
        return None
    path: dict[str, JsonValue] = json.loads(stored.anchor_details)
    commitment = proof_commitment(stored.proof, stored.salt)
    return {**path, "salt": base64url_encode(stored.salt), "commitment": base64url_encode(commitment)}
