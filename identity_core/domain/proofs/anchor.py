"""The receipt of a proof's anchor on a ledger (openapi/DECISIONS.md §4.10), and the commitment that is anchored."""

from __future__ import annotations

import hashlib
from enum import StrEnum
from typing import Final

from identity_codec import jcs
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.proofs.proof import ZkProof

_LABEL: Final = b"identity-anchor-proof v1\0"


class AnchorStatus(StrEnum):
    """``pre-phase7`` is the status of imported proofs that are older than anchoring; no proof that is made here has it."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    REVOKED = "revoked"
    FAILED = "failed"
    PRE_PHASE7 = "pre-phase7"


@value_class
class Anchor:
    """The ``Anchor`` of the document."""

    status: AnchorStatus
    tx_hash: str | None = None
    block_number: int | None = None
    revoked_block: int | None = None


def proof_commitment(proof: ZkProof, salt: bytes) -> bytes:
    """Return the 32 bytes that stand for a proof: ``SHA-256("identity-anchor-proof v1" 00 salt SHA-256(JCS of the ZKProof))``.

    Anyone who has the proof and its salt can make it. Without the salt it identifies no proof.
    """
    members: dict[str, JsonValue] = {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }
    return hashlib.sha256(_LABEL + salt + hashlib.sha256(jcs.canonicalize(members)).digest()).digest()
