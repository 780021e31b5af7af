"""getProof: a stored proof for those who have a part in it."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.ports.clock import Clock
from identity_core.ports.proofs import StoredProof
from identity_core.ports.repositories import AuditLog
from identity_core.use_cases.dids.writer import RequestContext
from identity_core.use_cases.proofs.access import ProofAccess
from identity_core.use_cases.proofs.recording import audit_row, key_of

SCOPE = "zkp:verify"


@dataclass(frozen=True, slots=True)
class GetProof:
    """Raises what ``ProofAccess`` does. An operator's look is audited."""

    access: ProofAccess
    audit: AuditLog
    clock: Clock

    async def __call__(self, proof_id: str, occasion: RequestContext) -> StoredProof:
        stored = await self.access(proof_id, occasion.caller, SCOPE)
        if key_of(occasion.caller) is not None:
            await self.audit.write(audit_row(occasion, stored.holder, self.clock.now(), {"proofId": stored.id}))
        return stored
