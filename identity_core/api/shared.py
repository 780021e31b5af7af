"""Parts of answers that several tags share: who made a record, and the anchor receipt of a proof.

The fingerprint of an API key is for administrators: others learn that it was one. What stands behind a receipt is for those who may see
the proof.
"""

from __future__ import annotations

from typing import Final

import orjson

from identity_core import wire
from identity_core.codec.multibase import base64url_encode
from identity_core.codec.structs import UNSET
from identity_core.domain.callers import Caller
from identity_core.domain.ledger.anchor_proof import AnchorPath, proof_commitment
from identity_core.domain.ledger.anchoring import Anchor
from identity_core.domain.proofs.stored import StoredProof

_API_KEY: Final = "apiKey:"


def author(text: str, reader: Caller | None) -> wire.Author:
    """The author of ``Caller.author``, for ``reader`` (None for a stranger)."""
    if not text.startswith(_API_KEY):
        return wire.Author(kind="did", did=text)
    return wire.Author(kind="apiKey", fingerprint=text.removeprefix(_API_KEY) if sees_keys(reader) else UNSET)


def revoker(text: str | None, reader: Caller | None) -> wire.Revoker | None:
    """The same of who revoked it, None for no one."""
    if text is None:
        return None
    who = author(text, reader)
    return wire.Revoker(kind=who.kind, did=who.did, fingerprint=who.fingerprint)


def sees_keys(reader: Caller | None) -> bool:
    """Whether fingerprints of API keys are shown to ``reader``."""
    return reader is not None and reader.is_admin


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


def details(stored: StoredProof) -> wire.AnchorDetails | None:
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
