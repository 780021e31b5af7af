"""What an IBCT may be used for once: the store that decides between parallel requests (research/delegation.md §3.5, §3.6).

``consume`` is one transaction: nonce and id are taken, revocations read anew, uses counted, limits of disclosure kept. Whether the
predicate holds is said to it beforehand, so that a refusal counts in the very moment in which it becomes known; nothing is held while
a proof is made. ``finish`` is the other one: revocations once more, and the proof with its answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from identity_core.domain.anchor import Anchor
from identity_core.domain.delegated_proof import DelegatedProof
from identity_core.domain.errors import JsonValue
from identity_core.ports.proofs import StoredProof


@dataclass(frozen=True, slots=True)
class Invocation:
    """An IBCT in one request. Digests are SHA-256: of nonce, id, and the JCS of the whole body. Nothing of it may be forgotten
    before ``delete_after``."""

    invoker: str
    nonce_digest: bytes
    id_digest: bytes
    request_digest: bytes
    delete_after: datetime


@dataclass(frozen=True, slots=True)
class Question:
    """A predicate that the agent chose itself. ``digest`` is the SHA-256 of the JCS of the canonical predicate. At most ``most``
    different ones may be asked about this attribute of a credential after ``since``, by all agents."""

    attribute: str
    digest: bytes
    most: int
    since: datetime


@dataclass(frozen=True, slots=True)
class Spending:
    """What is counted and read anew. ``delegations`` are the ids of the chain, leaf first; ``question`` is None where a pin fixed
    the value, which limits nothing more; ``satisfied`` is whether the predicate holds."""

    delegations: tuple[str, ...]
    credential_id: str
    question: Question | None
    satisfied: bool


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to make the proof of an invocation, for about a minute; ``token`` tells it from the one that took over."""

    invocation: Invocation
    spending: Spending
    token: bytes


@dataclass(frozen=True, slots=True)
class Refused:
    """The predicate did not hold; ``details`` are those of the first answer."""

    details: Mapping[str, JsonValue]


Outcome = DelegatedProof | Refused
"""How an invocation ended: what an identical request gets again."""


@dataclass(frozen=True, slots=True)
class Earlier:
    """The outcome of an identical request that was faster."""

    outcome: Outcome


class Invocations(Protocol):
    """The uses of IBCTs. All writes are durable on return unless said otherwise."""

    async def find(self, invocation: Invocation, now: datetime) -> Outcome | None:
        """The outcome of the identical request, or None when this one may go on: nobody came before, or whoever came died.

        Raises ``IbctReplayed`` when nonce or id belong to another request, ``RequestInProgress`` while the identical one runs.
        """
        ...

    async def consume(self, invocation: Invocation, spending: Spending, now: datetime) -> Lease | Refused | Earlier:
        """Spends the IBCT and counts the use.

        A lease where the predicate holds, which need not be durable, because nothing has been told yet; ``Refused`` where it does
        not, which is then stored, counted, and suspends what has no refusals left. A lease that ended is taken over without
        counting again.

        Raises what ``find`` raises; ``DelegationRevoked``, ``IbctRevoked``, ``CredentialRevoked``; ``DelegationExhausted``,
        ``DelegationSuspended``, ``DisclosureLimit``. Whoever is refused so has spent nothing.
        """
        ...

    async def finish(self, lease: Lease, proof: StoredProof) -> None:
        """Stores proof and answer.

        Raises ``DelegationRevoked``, ``IbctRevoked`` or ``CredentialRevoked`` when that happened meanwhile; the proof is then not
        stored and the use stays counted. Raises ``RequestInProgress`` when the lease was taken over.
        """
        ...

    async def release(self, lease: Lease) -> None:
        """Ends a lease without a proof, so that the identical request may go on at once. Need not be durable."""
        ...

    async def amend(self, lease: Lease, anchor: Anchor) -> None:
        """Remembers the receipt that the answer will carry. Need not be durable."""
        ...
