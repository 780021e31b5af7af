"""Rows of the timeline and of the verification history: which are wanted, and what is found.

Besides the audit log, which is complete and for operators, the timeline is what holder, agent and issuer may see. No row has an attribute
value, a predicate value or a secret: that of a verification has the name of the attribute, the kind of question, and the result.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from identity_core.domain.ledger.anchoring import Anchor
from identity_core.domain.proofs.checks import BoundPart, compared_of
from identity_core.values import value_class


@value_class
class TimelineEntry:
    """One event. ``kind`` is a dotted name such as ``delegation.created`` or ``proof.refused``; ``outcome`` is ``done`` or
    ``refused``, with the ``code`` of the refusal; ``actor`` is ``Caller.identity``; DIDs and identifiers as text."""

    at: datetime
    kind: str
    outcome: str
    actor: str | None
    code: str | None = None
    holder: str | None = None
    agent: str | None = None
    issuer: str | None = None
    delegation_id: str | None = None
    credential_id: str | None = None
    proof_id: str | None = None


@value_class
class Verification:
    """One verification. ``caller`` is ``Caller.identity``; ``verifier`` its DID or ``fingerprint`` that of its key. ``holder`` is set only
    where the proof is one that is kept here, octet by octet: what a stranger's proof says of itself names no one. ``attribute`` and
    ``predicate_type`` are None for a proof of several predicates, or one that cannot be read. ``codes`` say why it was not verified; of a
    verified one they are the parts of ``BOUND`` that were compared, of which older rows have none."""

    at: datetime
    verified: bool
    caller: str
    verifier: str | None
    fingerprint: str | None
    holder: str | None
    issuer: str | None
    schema_id: str | None
    proof_id: str | None
    attribute: str | None
    predicate_type: str | None
    codes: tuple[str, ...]

    @property
    def missing(self) -> tuple[BoundPart, ...]:
        """The parts of ``BOUND`` that were not compared; none for one that was not verified."""
        return compared_of(self.codes) if self.verified else ()


@value_class
class TimelineRow:
    """A stored event. Ids ascend with time; ``anchor`` is that of the proof as it is now, None without one."""

    id: str
    entry: TimelineEntry
    anchor: Anchor | None


@value_class
class VerificationRow:
    """A stored verification. Ids ascend with time; ``anchor`` is that of the proof as it is now."""

    id: str
    verification: Verification
    anchor: Anchor | None


@value_class
class TimelineQuery:
    """Which rows: those that concern one of ``dids`` (None: all), of ``kind`` or of the noun that it is (None: all), from
    ``since`` on and before ``until``, with ids before ``before``."""

    dids: frozenset[str] | None
    kind: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    before: str | None = None
    limit: int = 50


@value_class
class VerificationQuery:
    """Which rows: those that ``caller`` made or that one of ``dids`` made or held (both None: all), and among them those that
    the other members name; from ``since`` on, before ``until``, with ids before ``before``."""

    caller: str | None
    dids: frozenset[str] | None
    since: datetime | None = None
    until: datetime | None = None
    verified: bool | None = None
    holder: str | None = None
    issuer: str | None = None
    before: str | None = None
    limit: int = 50


@value_class
class VerificationCounts:
    """How many verifications there were, how many were valid and verified, and how often each reason came up among the others."""

    total: int
    valid: int
    verified: int
    reasons: Mapping[str, int]
