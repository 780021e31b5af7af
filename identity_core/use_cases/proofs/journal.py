"""What the audit log and the timeline say of requests for proofs, refusals included. No value of a predicate, no attribute.

The timeline is the holder's and the agent's: a request is told there only once the holder's signature was checked, so that nobody
writes into it who holds no token. The audit log has every request that got as far as being somebody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from identity_core.domain.delegated_proof import ProofRequest
from identity_core.errors import JsonValue
from identity_core.ports.proofs import StoredProof
from identity_core.ports.repositories import AuditLog, AuditRow
from identity_core.ports.timeline import Timeline, TimelineEntry
from identity_core.use_cases.dids.writer import RequestContext

GENERATED: Final = "proof.generated"
REFUSED: Final = "proof.refused"


@dataclass(frozen=True, slots=True)
class ProofJournal:
    """Writes rows; they need not be durable, because what they tell of is."""

    audit: AuditLog
    timeline: Timeline

    async def generated(self, request: ProofRequest, proof: StoredProof, occasion: RequestContext) -> None:
        """A proof was made and stored."""
        more: dict[str, JsonValue] = {"proofId": proof.id, "delegationId": proof.delegation_id}
        audited = self.audit.write(_row(request, occasion, proof.created_at, "done", more))
        entry = _entry(request, occasion, proof.created_at, proof.delegation_id, issuer=proof.issuer, proof_id=proof.id)
        told = self.timeline.record(entry)
        await audited
        await told

    async def replayed(self, request: ProofRequest, occasion: RequestContext, at: datetime) -> None:
        """An identical request got the first answer again."""
        await self.audit.write(_row(request, occasion, at, "replayed", {}))

    async def refused(
        self,
        request: ProofRequest,
        occasion: RequestContext,
        at: datetime,
        code: str,
        *,
        delegation_id: str | None,
        is_genuine: bool,
    ) -> None:
        """A refusal. ``is_genuine``: it came after the holder's signature was checked."""
        audited = self.audit.write(_row(request, occasion, at, "refused", {"code": code}))
        if is_genuine:
            await self.timeline.record(_entry(request, occasion, at, delegation_id, code=code))
        await audited


def _row(
    request: ProofRequest, occasion: RequestContext, at: datetime, outcome: str, more: dict[str, JsonValue]
) -> AuditRow:
    caller = occasion.caller
    key = caller.api_key or caller.operator
    details: dict[str, JsonValue] = {
        "agent": str(request.agent),
        "credentialId": request.credential_id[:256],
        "attributeName": request.asked.attribute,
        "type": request.asked.type,
        "anchor": request.anchor,
    }
    return AuditRow(
        at=at,
        request_id=occasion.request_id,
        operation=occasion.operation,
        caller=caller.identity,
        fingerprint=None if key is None else key.fingerprint,
        target=str(request.holder),
        outcome=outcome,
        details=details | more,
    )


def _entry(
    request: ProofRequest,
    occasion: RequestContext,
    at: datetime,
    delegation_id: str | None,
    *,
    code: str | None = None,
    issuer: str | None = None,
    proof_id: str | None = None,
) -> TimelineEntry:
    return TimelineEntry(
        at=at,
        kind=GENERATED if code is None else REFUSED,
        outcome="done" if code is None else "refused",
        actor=occasion.caller.identity,
        code=code,
        holder=str(request.holder),
        agent=str(request.agent),
        issuer=issuer,
        delegation_id=delegation_id,
        credential_id=request.credential_id[:256],
        proof_id=proof_id,
    )
