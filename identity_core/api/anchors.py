"""The compact anchor receipt, as delegated-proof results, verification history and timeline all embed it; and what stands behind it,
for those who may see the proof."""

from __future__ import annotations

import json

from identity_core import wire
from identity_core.codec.multibase import base64url_encode
from identity_core.domain.ledger.anchor_proof import proof_commitment
from identity_core.domain.ledger.anchoring import Anchor
from identity_core.domain.proofs.stored import StoredProof
from identity_core.errors import JsonValue


def anchor(receipt: Anchor | None) -> wire.Anchor | None:
    """Null where there is none."""
    if receipt is None:
        return None
    return wire.Anchor(
        status=receipt.status.value,
        tx_hash=receipt.tx_hash,
        block_number=receipt.block_number,
        revoked_block=receipt.revoked_block,
    )


def details(stored: StoredProof) -> dict[str, JsonValue] | None:
    """``AnchorDetails`` of the document: with them and the proof anybody can follow the path to the root that the ledger has. Null while
    the proof is in no batch."""
    if stored.anchor_details is None:
        return None
    path: dict[str, JsonValue] = json.loads(stored.anchor_details)
    commitment = proof_commitment(stored.proof, stored.salt)
    return {**path, "salt": base64url_encode(stored.salt), "commitment": base64url_encode(commitment)}
