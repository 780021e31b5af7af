"""revokeDelegation: final, and at once for everything that descends from it."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.ports.clock import Clock
from identity_core.use_cases.delegations.access import WRITE, DelegationAccess, ShownDelegation, author
from identity_core.use_cases.delegations.journal import Journal
from identity_core.use_cases.dids.writer import RequestContext

REVOKED = "delegation.revoked"


@dataclass(frozen=True, slots=True)
class RevokeDelegation:
    """For every party: the holder, who granted it or anything above it, an operator; the agent itself may renounce. A second
    time changes nothing. Raises ``DelegationNotFound``, ``Forbidden``."""

    access: DelegationAccess
    journal: Journal
    clock: Clock

    async def __call__(self, delegation_id: str, reason: str | None, occasion: RequestContext) -> ShownDelegation:
        caller, now = occasion.caller, self.clock.now()
        await self.access.find(delegation_id, caller, WRITE)
        revoked = await self.access.delegations.revoke(delegation_id, author(caller), reason, now)
        chain = await self.access.find(delegation_id, caller, WRITE)
        if revoked:
            await self.journal.delegation(REVOKED, chain.leaf, occasion, now)
        return ShownDelegation.of(chain, now)
