"""suspendDelegation: a pause that the holder can end."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.delegation import FINAL
from identity_core.errors import Conflict
from identity_core.ports.clock import Clock
from identity_core.use_cases.delegations.access import DelegationAccess, ShownDelegation
from identity_core.use_cases.delegations.journal import Journal
from identity_core.use_cases.dids.writer import RequestContext

SUSPENDED = "delegation.suspended"


@dataclass(frozen=True, slots=True)
class SuspendDelegation:
    """For the holder and operators. A second time changes nothing. Raises ``DelegationNotFound``, ``Forbidden``; ``Conflict`` for a
    delegation that is revoked, expired or exhausted."""

    access: DelegationAccess
    journal: Journal
    clock: Clock

    async def __call__(self, delegation_id: str, occasion: RequestContext) -> ShownDelegation:
        now = self.clock.now()
        check_not_final(ShownDelegation.of(await self.access.find_own(delegation_id, occasion.caller), now))
        suspended = await self.access.delegations.suspend(delegation_id, now)
        chain = await self.access.find_own(delegation_id, occasion.caller)
        if suspended:
            await self.journal.delegation(SUSPENDED, chain.leaf, occasion, now)
        return ShownDelegation.of(chain, now)


def check_not_final(shown: ShownDelegation) -> None:
    """Raises ``Conflict`` for a state out of which no delegation comes."""
    if shown.status in FINAL:
        raise Conflict(f"The delegation is {shown.status.value}, for good.", details={"status": shown.status.value})
