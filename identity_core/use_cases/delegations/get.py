"""getDelegation: one delegation, for its parties."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.caller import Caller
from identity_core.ports.clock import Clock
from identity_core.use_cases.delegations.access import READ, DelegationAccess, ShownDelegation


@dataclass(frozen=True, slots=True)
class GetDelegation:
    """Raises ``DelegationNotFound``, ``Forbidden``."""

    access: DelegationAccess
    clock: Clock

    async def __call__(self, delegation_id: str, caller: Caller) -> ShownDelegation:
        chain = await self.access.find(delegation_id, caller, READ)
        return ShownDelegation.of(chain, self.clock.now())
