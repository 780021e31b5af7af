"""suspendDelegations: suspend all delegations of a holder, or those to one agent."""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from identity_codec.structs import value_or
from identity_core.domain.activity import RequestContext
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import DelegationState
from identity_core.domain.dids.did import Did
from identity_core.errors import Forbidden, IdentityError, InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import DelegationFilter, Delegations
from identity_core.ports.repositories import RowPosition
from identity_core.use_cases.delegations.change import SuspendDelegation
from identity_core.use_cases.delegations.read import SUSPEND, WRITE
from identity_records.wire import SuspendDelegationsRequest

MOST: Final = 400
"""Delegations that one request suspends."""

_PAGE: Final = 200
_STOPPABLE: Final = (DelegationState.ACTIVE, DelegationState.SCHEDULED)


class SuspendDelegations(Struct, frozen=True):
    """Use case suspendDelegations, for the holder and, with ``agentDid``, for operators."""

    delegations: Delegations
    suspend: SuspendDelegation
    clock: Clock

    async def __call__(
        self, wish: SuspendDelegationsRequest, context: RequestContext
    ) -> tuple[list[str], list[tuple[str, str]]]:
        """Return the ids of the suspended delegations, and the id and error code of each that was refused.

        A delegation under one that was just suspended is suspended with it, and is not named. Raises ``InvalidRequest``,
        ``InvalidDid``, ``Forbidden``.
        """
        suspended, failed = list[str](), list[tuple[str, str]]()
        for chain in await self._stoppable(self._filter(wish, context)):
            if any(one.id in suspended for one in chain.records):
                continue
            try:
                suspended.append((await self.suspend(chain.leaf.id, context)).delegation.id)
            except IdentityError as error:
                failed.append((chain.leaf.id, error.code))
        return suspended, failed

    def _filter(self, wish: SuspendDelegationsRequest, context: RequestContext) -> DelegationFilter:
        caller, agent, every = context.caller, value_or(wish.agent_did, None), value_or(wish.all, False)
        if every is (agent is not None):
            raise InvalidRequest("Give agentDid, or all with the value true.", details={"member": "all"})
        if agent is not None:
            agent = str(Did.parse(agent))
        caller.require_scope(SUSPEND if SUSPEND in (caller.scopes or ()) else WRITE)
        if caller.api_key is None:
            return DelegationFilter(holder=str(caller.acting), agent=agent)
        if agent is None:
            raise Forbidden("Only a holder suspends all delegations. Give agentDid.")
        return DelegationFilter(holders=caller.api_key.allowed_targets, agent=agent)

    async def _stoppable(self, wanted: DelegationFilter) -> list[DelegationChain]:
        """Return active and scheduled delegations, those of short chains first: what is passed on under them stops with them."""
        now, after, found = self.clock.now(), None, list[DelegationChain]()
        while True:
            chains = await self.delegations.list(wanted, after=after, limit=_PAGE)
            found += (one for one in chains if one.state(now) in _STOPPABLE)
            # An agent must not hide its delegation behind many that it passed on.
            found = sorted(found, key=lambda one: len(one.records))[:MOST]
            if len(chains) < _PAGE:
                return found
            after = RowPosition(chains[-1].leaf.created_at, chains[-1].leaf.id)
