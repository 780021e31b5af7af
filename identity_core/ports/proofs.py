"""The proofs that this service made, as they are kept: what was proven, for whom and under which delegation.

The row of a proof is written in the transaction that ends its invocation (``ports/invocations.py``), so that no proof is
known that an IBCT does not stand behind. No attribute value is in it: the predicate is the question, not the answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from identity_core.domain.anchor import Anchor
from identity_core.domain.proof import ZkProof
from identity_core.errors import JsonValue


@dataclass(frozen=True, slots=True)
class ProofRevocation:
    """Who took a proof back, when and why. ``by`` is ``Caller.identity``."""

    at: datetime
    by: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class StoredProof:
    """A proof and what it is about. DIDs and identifiers are text, because they are compared and shown, never resolved anew.

    ``predicate`` is the canonical ``ZKPredicate``; ``salt`` (32 octets) hides the proof in its anchor's commitment and is shown to those
    alone who may see the proof; ``caller`` is ``Caller.identity``; ``challenge`` and ``domain`` are the verifier's, None where the
    request had none (the proof is then bound to ``nonce``, the IBCT's). ``anchor`` is None for a proof that was never to be anchored;
    ``anchor_details`` is the JSON of its ``AnchorPath``, None while it is in no batch.
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

    @property
    def id(self) -> str:
        """The proof's id, a uuid."""
        return self.proof.proof_id


class Proofs(Protocol):
    """Reads proofs and takes them back; those that are made here are written by ``Invocations.finish`` alone."""

    async def get(self, proof_id: str) -> StoredProof | None:
        """The proof with this id, or None."""
        ...

    async def list(
        self,
        *,
        holder: str | None = None,
        agent: str | None = None,
        before: tuple[datetime, str] | None = None,
        limit: int,
    ) -> Sequence[StoredProof]:
        """The newest proofs first, of this holder and this agent where they are given. ``before`` is creation time and id of the last
        one of the page before."""
        ...

    async def revoke(self, proof_id: str, revocation: ProofRevocation) -> StoredProof | None:
        """The proof as it stands afterwards, or None for an unknown one. The first revocation counts; durable on return."""
        ...

    async def bring_in(self, proofs: Sequence[StoredProof]) -> int:
        """Adds proofs that were made elsewhere, all or none, except those whose id is there; how many were added. Durable on return."""
        ...
