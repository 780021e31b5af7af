"""listDelegations: a DID's own delegations, or those of the holders for whom an operator may act."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.domain.caller import Caller
from identity_core.domain.delegation import DelegationState
from identity_core.domain.did import Did
from identity_core.ports.clock import Clock
from identity_core.ports.delegations import DelegationFilter, DelegationPosition, Delegations
from identity_core.use_cases.delegations.access import READ, ShownDelegation, acting_did

LOOKED_AT_MOST: Final = 1000
_BATCH: Final = 200


@dataclass(frozen=True, slots=True)
class DelegationQuery:
    """What a list is asked for; None asks for nothing."""

    holder: Did | None = None
    agent: Did | None = None
    status: DelegationState | None = None


@dataclass(frozen=True, slots=True)
class DelegationPage:
    """``end`` is where the next page begins, None where there is none."""

    items: tuple[ShownDelegation, ...]
    end: DelegationPosition | None


@dataclass(frozen=True, slots=True)
class ListDelegations:
    """Newest first. The status is that of the chain and is in no column, so a page looks at rows until it is full or has looked at
    ``LOOKED_AT_MOST``; such a page may be short, or empty, and still have a next one. Raises ``Forbidden``."""

    delegations: Delegations
    clock: Clock

    async def __call__(
        self, query: DelegationQuery, caller: Caller, *, after: DelegationPosition | None, limit: int
    ) -> DelegationPage:
        wanted, now = _filter(query, caller), self.clock.now()
        items: list[ShownDelegation] = []
        looked_at = 0
        while True:
            batch = _BATCH if query.status is not None else limit + 1
            chains = await self.delegations.list(wanted, after=after, limit=batch)
            for place, chain in enumerate(chains):
                shown = ShownDelegation.of(chain, now)
                after = DelegationPosition(chain.leaf.created_at, chain.leaf.id)
                if query.status in (None, shown.status):
                    items.append(shown)
                if len(items) == limit and (place + 1 < len(chains) or len(chains) == batch):
                    return DelegationPage(tuple(items), after)
            looked_at += len(chains)
            if len(chains) < batch:
                return DelegationPage(tuple(items), None)
            if looked_at >= LOOKED_AT_MOST:
                return DelegationPage(tuple(items), after)


def _filter(query: DelegationQuery, caller: Caller) -> DelegationFilter:
    caller.require_scope(READ)
    holder = None if query.holder is None else str(query.holder)
    agent = None if query.agent is None else str(query.agent)
    if caller.api_key is None:
        return DelegationFilter(party=str(acting_did(caller)), holder=holder, agent=agent)
    if query.holder is not None:
        caller.api_key.require_target(query.holder)
    return DelegationFilter(holders=caller.api_key.allowed_targets, holder=holder, agent=agent)
