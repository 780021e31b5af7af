"""resumeDelegation: the end of a suspension, whether it was made by hand or by the limit of refusals."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.ports.clock import Clock
from identity_core.use_cases.delegations.access import DelegationAccess, ShownDelegation
from identity_core.use_cases.delegations.journal import Journal
from identity_core.use_cases.delegations.suspend import check_not_final
from identity_core.use_cases.dids.writer import RequestContext

RESUMED = "delegation.resumed"


@dataclass(frozen=True, slots=True)
class ResumeDelegation:
    """For the holder and operators. After a suspension by the limit refusals and thresholds begin anew: the holder allows as many
    questions again. One that is not suspended is not changed. Raises ``DelegationNotFound``, ``Forbidden``, ``Conflict``."""

    access: DelegationAccess
    journal: Journal
    clock: Clock

    async def __call__(self, delegation_id: str, occasion: RequestContext) -> ShownDelegation:
        now = self.clock.now()
        check_not_final(ShownDelegation.of(await self.access.find_own(delegation_id, occasion.caller), now))
        resumed = await self.access.delegations.resume(delegation_id, now)
        chain = await self.access.find_own(delegation_id, occasion.caller)
        if resumed:
            await self.journal.delegation(RESUMED, chain.leaf, occasion, now)
        return ShownDelegation.of(chain, now)
