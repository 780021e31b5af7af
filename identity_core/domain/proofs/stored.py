"""What a proof is asked for and what is answered, free of HTTP.

``read_value`` checks a predicate's value before its type is known.

A proof as it is kept, and from before anchoring existed as it is imported: the ``ProofRecord`` that ``getProof`` answers, without its
anchor.

Its receipt is ``pre-phase7`` with nothing in it; our own code never makes such a one.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import field
from datetime import datetime
from typing import Any, Final

import orjson

from identity_core.codec import times
from identity_core.domain.activity import Parties
from identity_core.domain.credentials.attributes import ValueRefused, exact
from identity_core.domain.ledger.anchoring import Anchor, AnchorStatus
from identity_core.domain.proofs.expected import KeptQuestion
from identity_core.domain.proofs.proof import ReceivedProof, ZkProof
from identity_core.errors import InvalidRequest, JsonValue, ProofInvalid
from identity_core.values import value_class

MAX_SYNC_WAIT_MS = 30_000
SALT_OCTETS: Final = 32
"""Of the salt that hides a proof in its anchor's commitment."""


@value_class
class DelegatedProof:
    """The ``DelegatedProofResult``; its ``proofId`` is that of ``proof``."""

    delegation_id: str
    proof: ZkProof
    anchor: Anchor | None


def read_value(value: JsonValue) -> JsonValue:
    """Return ``value`` if it may be a target: a string, a number, a boolean, or an array of these. Raises ``InvalidRequest``."""
    for element in value if isinstance(value, list) else (value,):
        try:
            is_target = isinstance(exact(element), str | int)
            reason = "A predicate's value is a string, a number, a boolean, or an array of these"
        except ValueRefused as refused:
            is_target, reason = False, f"predicate.value: {refused}"
        if not is_target:
            raise InvalidRequest(f"{reason}.", details={"member": "predicate.value"})
    return value


MOST_CHARACTERS: Final = 2048


class NotARecord(ValueError):
    """It is not a ``ProofRecord``; the text says where."""


IMPORTED: Final = "import"
"""The caller of a proof that was imported."""


@value_class
class ProofRevocation:
    """Who took a proof back, when and why. ``by`` is ``Caller.identity``."""

    at: datetime
    by: str
    reason: str | None


@value_class
class StoredProof:
    """A proof and what it is about. DIDs and identifiers are text, because they are compared and shown, never resolved anew.

    ``predicate`` is the canonical ``ZKPredicate``, of several the first; ``question`` what was asked with ``credentials``, as
    ``ProofRecord`` has it, where ``predicate`` is empty and ``credential_id``, ``issuer`` and ``schema_id`` are those of the first;
    ``salt`` (32 octets) hides the proof in its anchor's commitment and is shown to those alone who may see the proof; ``caller`` is
    ``Caller.identity``; ``challenge`` and ``domain`` are the verifier's, None where the request had none (the proof is then bound to
    ``nonce``, the IBCT's). ``anchor`` is None for a proof that was never to be anchored; ``anchor_details`` is the JSON of its
    ``AnchorPath``, None while it is in no batch.
    """

    proof: ZkProof
    delegation_id: str
    holder: str
    agent: str
    credential_id: str
    issuer: str
    schema_id: str
    predicate: Mapping[str, JsonValue]
    salt: bytes = field(repr=False)
    ibct_id: str
    nonce: str
    created_at: datetime
    expires_at: datetime
    caller: str
    challenge: str | None
    domain: str | None
    revocation: ProofRevocation | None = None
    anchor: Anchor | None = None
    anchor_details: bytes | None = None
    question: KeptQuestion | None = None

    @property
    def credential_ids(self) -> tuple[str, ...]:
        """All credentials that it is about."""
        if self.question is None:
            return (self.credential_id,)
        return tuple(one.credential_id for one in self.question.credentials)

    @property
    def id(self) -> str:
        """The proof's id, a uuid."""
        return self.proof.proof_id

    @property
    def predicates(self) -> tuple[Mapping[str, JsonValue], ...]:
        """All canonical predicates in the order of the request: several stand in the public signals, by name, type and JCS of the value.
        None where ``question`` says what is shown."""
        if self.question is not None:
            return ()
        if "," not in self.proof.predicate_type or self.caller == IMPORTED:
            # The signals of another service's proof may be of any form.
            return (self.predicate,)
        signals = self.proof.public_signals[3:-2]
        return tuple(
            {"attributeName": name, "type": kind, "value": orjson.loads(value)}
            for name, kind, value in zip(signals[::3], signals[1::3], signals[2::3], strict=True)
        )

    @property
    def parties(self) -> Parties:
        """Whom an event of the proof may concern."""
        return Parties(self.holder, self.agent, self.issuer, self.delegation_id, self.credential_id, self.id)

    @classmethod
    def of_record(cls, value: Any, salt: bytes) -> StoredProof:
        """From the JSON of a ``ProofRecord`` of before anchoring. Raises ``NotARecord``, also for one that has an anchor: that is not
        from before. Nothing of its token came with it, and what else a record says belongs to the service that had it."""
        if not isinstance(value, dict):
            raise NotARecord("it is no object")
        anchor = value.get("anchor")
        if anchor is not None and (not isinstance(anchor, dict) or anchor.get("status") != "pre-phase7"):
            raise NotARecord("it has an anchor: that belongs to the ledger of the service that made it")
        predicate = value.get("predicate")
        if not isinstance(predicate, dict) or "value" not in predicate:
            raise NotARecord("predicate is no object with a value")
        return cls(
            proof=read_zk_proof(value),
            delegation_id=_text(value, "delegationId"),
            holder=_text(value, "holderDid"),
            agent=_text(value, "agentDid"),
            credential_id=_text(value, "credentialId"),
            issuer=_text(value, "issuerDid"),
            schema_id=_text(value, "schemaId"),
            predicate={
                "attributeName": _text(predicate, "attributeName"),
                "type": _text(predicate, "type"),
                "value": predicate["value"],
            },
            salt=salt,
            ibct_id="",
            nonce="",
            created_at=_time(value.get("createdAt"), "createdAt"),
            expires_at=_time(value.get("expiresAt"), "expiresAt"),
            caller=IMPORTED,
            challenge=_text_or_none(value, "challenge"),
            domain=_text_or_none(value, "domain"),
            revocation=_revocation(value),
            anchor=Anchor(AnchorStatus.PRE_PHASE7, None, None, None),
        )


def _revocation(value: dict[str, Any]) -> ProofRevocation | None:
    reason, at = _text_or_none(value, "revocationReason"), value.get("revokedAt")
    return None if at is None else ProofRevocation(_time(at, "revokedAt"), IMPORTED, reason)


def read_zk_proof(record: Mapping[str, Any]) -> ZkProof:
    """The proof in a record, with all of its members. Raises ``NotARecord``."""
    value = record.get("proof")
    if not isinstance(value, dict):
        raise NotARecord("proof is no ZKProof")
    try:
        received = ReceivedProof.parse(value)
    except ProofInvalid as error:
        raise NotARecord(f"proof is no ZKProof: {error.details['reason']}") from error
    if not received.proof or received.public_signals is None:
        raise NotARecord("proof is no ZKProof: it needs proof and publicSignals")
    own = _text(value, "proofId")
    try:
        is_uuid = str(uuid.UUID(own)) == own
    except ValueError:
        is_uuid = False
    if not is_uuid or record.get("proofId") not in (None, own):
        raise NotARecord("proofId is no uuid in lower case, or not that of its proof")
    return ZkProof(received.proof, received.public_signals, _text(value, "predicateType"), own)


def _text(value: dict[str, Any], name: str) -> str:
    text = value.get(name)
    if not isinstance(text, str) or not 0 < len(text) <= MOST_CHARACTERS:
        raise NotARecord(f"{name} is no text of at most {MOST_CHARACTERS} characters")
    return text


def _text_or_none(value: dict[str, Any], name: str) -> str | None:
    return None if value.get(name) is None else _text(value, name)


def _time(value: Any, name: str) -> datetime:
    try:
        return times.parse(value)
    except ValueError as error:
        raise NotARecord(f"{name}: {error}") from error
