"""Requests for proofs and stored proofs, free of HTTP.

``read_value`` checks a predicate's value before its type is known.

A stored proof is the ``ProofRecord`` that ``getProof`` returns.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final

import orjson
from msgspec import Struct

from identity_codec.strict_json import JsonValue, exact
from identity_codec.values import Hidden
from identity_core.domain.activity import Parties
from identity_core.domain.proofs.proof import ZkProof
from identity_core.errors import InvalidRequest

MAX_SYNC_WAIT_MS = 30_000
SALT_OCTETS: Final = 32
"""The length of the salt that hides a proof in its anchor's commitment."""


class AnchorStatus(StrEnum):
    """The status of an anchor. ``pre-phase7`` is that of imported proofs that are older than anchoring; proofs made here never have it."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    REVOKED = "revoked"
    FAILED = "failed"
    PRE_PHASE7 = "pre-phase7"


class Anchor(Struct, frozen=True):
    """The ``Anchor`` of the OpenAPI document."""

    status: AnchorStatus
    tx_hash: str | None = None
    block_number: int | None = None
    revoked_block: int | None = None


AttributeOf = tuple[int, str]
"""The number of a credential in the question, and the name of one of its attributes."""


class KeptCredential(Struct, frozen=True):
    """One of several credentials of a proof. ``predicates`` are canonical ``ZKPredicate``, or ``neq``. ``credential_id`` is empty if
    only the proof is known."""

    credential_id: str
    issuer: str
    schema_id: str
    predicates: tuple[Mapping[str, JsonValue], ...]


class KeptQuestion(Struct, frozen=True):
    """The stored question about several credentials together. ``same`` are classes of attributes that are equal and not
    null. ``either`` are groups of predicates, numbered through all credentials, of which at least one is satisfied. ``pseudonym``
    is the verifier's context."""

    credentials: tuple[KeptCredential, ...]
    same: tuple[tuple[AttributeOf, ...], ...]
    either: tuple[tuple[int, ...], ...]
    pseudonym: str | None


class DelegatedProof(Struct, frozen=True):
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
        except ValueError as refused:
            is_target, reason = False, f"predicate.value: {refused}"
        if not is_target:
            raise InvalidRequest(f"{reason}.", details={"member": "predicate.value"})
    return value


IMPORTED: Final = "import"
"""The caller of a proof that was imported."""


class ProofRevocation(Struct, frozen=True):
    """The revocation of a proof, with its author, time and reason. ``by`` is ``Caller.identity``."""

    at: datetime
    by: str
    reason: str | None


class StoredProof(Hidden, Struct, frozen=True):
    """A proof and its record. DIDs and identifiers are text, because they are compared and shown, never resolved again.

    ``predicate`` is the canonical ``ZKPredicate``, the first of several. ``question`` is the question of a request with ``credentials``,
    as in ``ProofRecord``; ``predicate`` is then empty, and ``credential_id``, ``issuer`` and ``schema_id`` are those of the first one.
    ``salt`` (32 bytes) hides the proof in its anchor's commitment; only callers that may read the proof see it. ``caller`` is
    ``Caller.identity``. ``challenge`` and ``domain`` are the verifier's, None if the request had none; the proof is then bound to
    ``nonce``, the IBCT's. ``anchor`` is None for a proof without a request for an anchor. ``anchor_details`` is the JSON of its
    ``AnchorPath`` (identity_tlog), None while it is in no batch.
    """

    proof: ZkProof
    delegation_id: str
    holder: str
    agent: str
    credential_id: str
    issuer: str
    schema_id: str
    predicate: Mapping[str, JsonValue]
    salt: bytes
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
        """Return the ids of all credentials of the proof."""
        if self.question is None:
            return (self.credential_id,)
        return tuple(one.credential_id for one in self.question.credentials)

    @property
    def id(self) -> str:
        """Return the proof's id, a UUID."""
        return self.proof.proof_id

    @property
    def predicates(self) -> tuple[Mapping[str, JsonValue], ...]:
        """Return all canonical predicates in the order of the request. Several are read from the public signals: name, type and JCS of
        the value. There are none if ``question`` has them."""
        if self.question is not None:
            return ()
        if "," not in self.proof.predicate_type or self.caller == IMPORTED:
            # The signals of another service's proof may have any form.
            return (self.predicate,)
        signals = self.proof.public_signals[3:-2]
        return tuple(
            {"attributeName": name, "type": kind, "value": orjson.loads(value)}
            for name, kind, value in zip(signals[::3], signals[1::3], signals[2::3], strict=True)
        )

    @property
    def parties(self) -> Parties:
        """Return the parties that an event of the proof may concern."""
        return Parties(self.holder, self.agent, self.issuer, self.delegation_id, self.credential_id, self.id)
