"""Received proofs. ``ReceivedProof`` is the only reader of a received ``ZKProof``."""

from __future__ import annotations

import hashlib
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_codec import jcs
from identity_codec.strict_json import JsonValue
from identity_core.domain.proofs.proof import Context, ZkProof
from identity_core.errors import ProofInvalid

NEVER_PROVEN: Final = ("holder", "credentialValidity", "credentialStatus", "revocation")
"""Properties that no proof of suite 1 states: its holder agreed, its credential is valid and not revoked or suspended, the proof itself is
not revoked. A proof of suite 2 states the first three. A record at the service may state the others."""


def moment_within(context: Context, now: datetime) -> datetime:
    """Return the time within the proof's validity that is nearest to ``now``, so that the proof can be verified apart from its time."""
    return max(context.issued_at, min(now, context.expires_at - timedelta(seconds=1)))


_LABEL: Final = b"identity-anchor-proof v1\0"


def proof_commitment(proof: ZkProof, salt: bytes) -> bytes:
    """Return the 32-byte commitment to a proof: ``SHA-256("identity-anchor-proof v1" 00 salt SHA-256(JCS of the ZKProof))``.

    Any holder of the proof and its salt can compute it. Without the salt it does not identify a proof.
    """
    members: dict[str, JsonValue] = {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }
    return hashlib.sha256(_LABEL + salt + hashlib.sha256(jcs.canonicalize(members)).digest()).digest()


class ReceivedProof(Struct, frozen=True):
    """A received ``ZKProof``: all members but ``proof`` are optional, and checked if present."""

    proof: str
    public_signals: tuple[str, ...] | None = None
    predicate_type: str | None = None
    proof_id: str | None = None

    @classmethod
    def parse(cls, value: JsonValue) -> ReceivedProof:
        """Parse a ``ZKProof``, a ``DelegatedProofResult`` or ``ProofRecord`` with one, or the bare text. Raises ``ProofInvalid``."""
        if isinstance(value, str):
            return cls(value)
        if isinstance(value, dict) and isinstance(value.get("proof"), dict):
            value = value["proof"]
        if not isinstance(value, dict):
            raise ProofInvalid(details={"reason": "not a ZKProof"})
        proof, signals = value.get("proof"), value.get("publicSignals")
        kind, proof_id = value.get("predicateType"), value.get("proofId")
        if not isinstance(proof, str) or not isinstance(kind, str | None) or not isinstance(proof_id, str | None):
            raise ProofInvalid(details={"reason": "not a ZKProof"})
        if signals is None:
            return cls(proof, None, kind, proof_id)
        texts = tuple(signal for signal in signals if isinstance(signal, str)) if isinstance(signals, list) else ()
        if not isinstance(signals, list) or len(texts) != len(signals):
            raise ProofInvalid(details={"reason": "publicSignals is a list of strings"})
        return cls(proof, texts, kind, proof_id)

    @classmethod
    def from_proof(cls, proof: ZkProof) -> ReceivedProof:
        """Return a proof with all of its members."""
        return cls(proof.proof, proof.public_signals, proof.predicate_type, proof.proof_id)

    def completed(self, own: ZkProof) -> ZkProof:
        """Return the proof, with missing members from ``own``."""
        return ZkProof(
            self.proof,
            own.public_signals if self.public_signals is None else self.public_signals,
            own.predicate_type if self.predicate_type is None else self.predicate_type,
            own.proof_id if self.proof_id is None else self.proof_id,
        )
