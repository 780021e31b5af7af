"""Verifications by callers who are known, and the challenges that verifiers obtain from the service.

No attribute value and no predicate value is kept: a row says which attribute was asked about and how, and whether the proof held.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from identity_core.domain.anchor import Anchor


@dataclass(frozen=True, slots=True)
class Verification:
    """One verification. ``caller`` is ``Caller.identity``; ``verifier`` its DID or ``fingerprint`` that of its key. ``holder`` is set only
    where the proof is one that is kept here, octet by octet: what a stranger's proof says of itself names nobody. ``attribute`` and
    ``predicate_type`` are None for a proof of several predicates, or one that cannot be read."""

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


@dataclass(frozen=True, slots=True)
class VerificationRow:
    """A stored verification. Ids ascend with time; ``anchor`` is that of the proof as it is now."""

    id: str
    verification: Verification
    anchor: Anchor | None


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class VerificationCounts:
    """How many verifications there were, how many held, and how often each reason came up among the others."""

    total: int
    verified: int
    reasons: Mapping[str, int]


class Verifications(Protocol):
    """The verification history."""

    def record(self, verification: Verification) -> Awaitable[None]:
        """Queues a row at once; it is stored when the awaitable resolves. It outlives the process, not a loss of power."""
        ...

    async def list(self, wish: VerificationQuery) -> Sequence[VerificationRow]:
        """Newest first."""
        ...

    async def counts(self, wish: VerificationQuery) -> VerificationCounts:
        """Of all rows of the wish, without its ``before`` and ``limit``."""
        ...


@dataclass(frozen=True, slots=True)
class VerifierChallenge:
    """A challenge as it is kept. ``owner`` is who obtained it, ``domain`` for what; times are aware UTC."""

    owner: str
    domain: str
    expires_at: datetime
    spent: bool


class VerifierChallenges(Protocol):
    """The challenges of verifiers, by their text; the text itself is not stored."""

    async def add(self, text: str, challenge: VerifierChallenge, now: datetime) -> None:
        """Keeps it until it expires. Raises ``Overloaded`` when far too many of this owner are live. It need not be durable."""
        ...

    async def find(self, text: str) -> VerifierChallenge | None:
        """What is kept of it, or None."""
        ...

    async def spend(self, text: str, now: datetime) -> bool:
        """Spends it by one guarded statement, durable on return: exactly one of many callers sees True."""
        ...

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Deletes at most ``limit`` that were spent and had expired by then; how many there were."""
        ...
