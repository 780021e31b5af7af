"""A proof from before anchoring existed, as it is imported: the ``ProofRecord`` that ``getProof`` answers, without its anchor.

Its receipt is ``pre-phase7`` with nothing in it; our own code never makes such a one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from identity_core.domain import times
from identity_core.domain.proof import ZkProof
from identity_core.errors import JsonValue

MOST_CHARACTERS: Final = 2048


class NotARecord(ValueError):
    """It is not a ``ProofRecord``; the text says where."""


@dataclass(frozen=True, slots=True)
class ProofRecord:
    """What is known of such a proof. The others of a record's members belong to the service that had it."""

    proof: ZkProof
    delegation_id: str
    holder: str
    agent: str
    credential_id: str
    issuer: str
    schema_id: str
    predicate: Mapping[str, JsonValue]
    challenge: str | None
    domain: str | None
    created_at: datetime
    expires_at: datetime
    revoked_at: datetime | None
    revocation_reason: str | None

    @classmethod
    def parse(cls, value: Any) -> ProofRecord:
        """From JSON. Raises ``NotARecord``, also for a record that has an anchor: that is not from before anchoring."""
        if not isinstance(value, dict):
            raise NotARecord("it is no object")
        anchor = value.get("anchor")
        if anchor is not None and (not isinstance(anchor, dict) or anchor.get("status") != "pre-phase7"):
            raise NotARecord("it has an anchor: that belongs to the ledger of the service that made it")
        predicate = value.get("predicate")
        if not isinstance(predicate, dict):
            raise NotARecord("predicate is no object")
        revoked_at = value.get("revokedAt")
        return cls(
            proof=read_zk_proof(value),
            delegation_id=_text(value, "delegationId"),
            holder=_text(value, "holderDid"),
            agent=_text(value, "agentDid"),
            credential_id=_text(value, "credentialId"),
            issuer=_text(value, "issuerDid"),
            schema_id=_text(value, "schemaId"),
            predicate=predicate,
            challenge=_text_or_none(value, "challenge"),
            domain=_text_or_none(value, "domain"),
            created_at=_time(value.get("createdAt"), "createdAt"),
            expires_at=_time(value.get("expiresAt"), "expiresAt"),
            revoked_at=None if revoked_at is None else _time(revoked_at, "revokedAt"),
            revocation_reason=_text_or_none(value, "revocationReason"),
        )


def read_zk_proof(record: Mapping[str, Any]) -> ZkProof:
    """The proof in a record. Raises ``NotARecord``."""
    value, proof_id = record.get("proof"), record.get("proofId")
    if not isinstance(value, dict):
        raise NotARecord("proof is no ZKProof")
    signals, own = value.get("publicSignals"), _text(value, "proofId")
    if not isinstance(signals, list) or not all(isinstance(signal, str) for signal in signals):
        raise NotARecord("publicSignals is no list of strings")
    try:
        is_uuid = str(uuid.UUID(own)) == own
    except ValueError:
        is_uuid = False
    if not is_uuid or proof_id not in (None, own):
        raise NotARecord("proofId is no uuid in lower case, or not that of its proof")
    proof = value.get("proof")
    if not isinstance(proof, str) or not proof:
        raise NotARecord("proof is no ZKProof")
    return ZkProof(proof, tuple(signals), _text(value, "predicateType"), own)


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not 0 < len(text) <= MOST_CHARACTERS:
        raise NotARecord(f"{name} is no text of at most {MOST_CHARACTERS} characters")
    return text


def _text_or_none(value: dict[str, Any], name: str) -> str | None:
    return None if value.get(name) is None else _text(value, name)


def _time(value: Any, name: str) -> datetime:
    try:
        return times.parse(value if isinstance(value, str) else "")
    except ValueError as error:
        raise NotARecord(f"{name}: {error}") from error
