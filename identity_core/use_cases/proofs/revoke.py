"""revokeProof: the holder, the agent who obtained it, or an operator takes a proof back.

What verifiers hold stays mathematically right; from now on the stored verification refuses it. The first revocation
counts, and repeating it changes nothing. Where the proof was anchored, its anchor is revoked with it.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from identity_core.errors import JsonValue, ProofNotFound
from identity_core.ports.anchor_revocation import AnchorRevocation
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import ProofRevocation, Proofs, StoredProof
from identity_core.ports.repositories import AuditLog
from identity_core.ports.timeline import Timeline, TimelineEntry
from identity_core.use_cases.dids.writer import RequestContext
from identity_core.use_cases.proofs.access import ProofAccess
from identity_core.use_cases.proofs.recording import audit_row

SCOPE = "zkp:prove"
REVOKED = "proof.revoked"


@dataclass(frozen=True, slots=True)
class RevokeProof:
    """``anchors`` is None in an installation that revokes no anchors. Raises what ``ProofAccess`` does."""

    access: ProofAccess
    proofs: Proofs
    anchors: AnchorRevocation | None
    timeline: Timeline
    audit: AuditLog
    clock: Clock

    async def __call__(self, proof_id: str, reason: str | None, wait_ms: int, occasion: RequestContext) -> StoredProof:
        before = await self.access(proof_id, occasion.caller, SCOPE)
        revocation = ProofRevocation(self.clock.now(), occasion.caller.identity, reason)
        stored = await self.proofs.revoke(before.id, revocation)
        if stored is None:
            raise ProofNotFound
        if stored.revocation == revocation:
            await self._tell(stored, revocation, occasion)
        if self.anchors is not None and stored.anchor is not None:
            stored = replace(stored, anchor=await self.anchors.revoke(stored.id, wait_ms))
        return stored

    async def _tell(self, stored: StoredProof, revocation: ProofRevocation, occasion: RequestContext) -> None:
        event = TimelineEntry(
            at=revocation.at,
            kind=REVOKED,
            outcome="done",
            actor=revocation.by,
            holder=stored.holder,
            agent=stored.agent,
            delegation_id=stored.delegation_id,
            credential_id=stored.credential_id,
            proof_id=stored.id,
        )
        details: dict[str, JsonValue] = {"proofId": stored.id}
        line = audit_row(occasion, stored.holder, revocation.at, details)
        await asyncio.gather(self.timeline.record(event), self.audit.write(line, durable=True))
