"""The anchor receipt of a proof, as answers show it, and for those who may see the proof what stands behind it."""

from __future__ import annotations

import orjson

from identity_codec.multibase import base64url_encode
from identity_core import wire
from identity_core.domain.ledger.anchor_proof import AnchorPath, proof_commitment
from identity_core.domain.ledger.anchoring import Anchor
from identity_core.domain.proofs.stored import StoredProof


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


def anchor_details(stored: StoredProof) -> wire.AnchorDetails | None:
    """With them and the proof anybody can follow the path to the root that the ledger has. Null while the proof is in no batch."""
    if stored.anchor_details is None:
        return None
    path = AnchorPath.parse(orjson.loads(stored.anchor_details))
    return wire.AnchorDetails(
        ledger=path.ledger,
        root=base64url_encode(path.root),
        index=path.index,
        size=path.size,
        path=tuple(map(base64url_encode, path.path)),
        sealed_at=path.sealed_at,
        salt=base64url_encode(stored.salt),
        commitment=base64url_encode(proof_commitment(stored.proof, stored.salt)),
    )
