"""Read access to delegations, and the right to act for a holder.

Parties of a delegation are its holder and the agents of its chain up to the root. An operator has an API key whose allowlist names the
holder. For all other callers it does not exist.

getDelegation: one delegation, for its parties.

listDelegations: a DID's own delegations, or those of the holders for whom an operator may act.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_core.domain.callers import Caller
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import Delegation, DelegationState
from identity_core.errors import DelegationNotFound, Forbidden
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import DelegationFilter, Delegations
from identity_core.ports.repositories import RowPosition
from identity_core.use_cases.dids.index import DidReader
from identity_core.wire import ListDelegationsQuery

READ: Final = "delegations:read"
WRITE: Final = "delegations:write"
SUSPEND: Final = "delegations:suspend"
"""A part of ``WRITE`` for sessions of pages only, not for tokens or API keys."""


class ShownDelegation(Struct, frozen=True):
    """The view of a delegation for its parties: ``status`` and ``effective_autonomy`` are those of its whole chain."""

    delegation: Delegation
    status: DelegationState
    effective_autonomy: int

    @classmethod
    def from_chain(cls, chain: DelegationChain, now: datetime) -> ShownDelegation:
        """Return the view at ``now``."""
        return cls(chain.leaf, chain.state(now), chain.effective_autonomy)


class DelegationAccess(Struct, frozen=True):
    """Lookup of a delegation for a caller."""

    delegations: Delegations

    async def find(self, delegation_id: str, caller: Caller, scope: str) -> DelegationChain:
        """Return the chain of the delegation. Raises ``Forbidden``: when the caller does not have the scope. Raises
        ``DelegationNotFound``: when the id is unknown or the caller is not a party, with the same query and the same answer."""
        caller.require_scope(scope)
        chain = await self.delegations.chain(delegation_id)
        if chain is None or not _has_part(caller, chain):
            raise DelegationNotFound
        return chain

    async def find_own(self, delegation_id: str, caller: Caller, scope: str = WRITE) -> DelegationChain:
        """Return the chain for an operation of the holder or an operator, as ``find`` does. Raises ``Forbidden``: also when the caller
        is an agent of the chain."""
        chain = await self.find(delegation_id, caller, scope)
        if caller.api_key is None and caller.acting != chain.leaf.holder:
            raise Forbidden("Only the holder may do this.")
        return chain


def _has_part(caller: Caller, chain: DelegationChain) -> bool:
    if caller.api_key is not None:
        targets = caller.api_key.allowed_targets
        return targets is None or str(chain.leaf.holder) in targets
    did = caller.acting
    return did == chain.leaf.holder or any(did == record.agent for record in chain.records)


class GetDelegation(Struct, frozen=True):
    """Use case getDelegation. Raises ``DelegationNotFound``, ``Forbidden``."""

    access: DelegationAccess
    clock: Clock

    async def __call__(self, delegation_id: str, caller: Caller) -> ShownDelegation:
        return ShownDelegation.from_chain(await self.access.find(delegation_id, caller, READ), self.clock.now())


LOOKED_AT_MOST: Final = 1000
_BATCH: Final = 200


class DelegationPage(Struct, frozen=True):
    """A page of delegations. ``end`` is the position of the next page, None if there is none."""

    items: tuple[ShownDelegation, ...]
    end: RowPosition | None


class ListDelegations(Struct, frozen=True):
    """Use case listDelegations, newest first. The status is that of the chain and is in no column, so a page reads rows until it is full
    or has read ``LOOKED_AT_MOST``. Such a page may be short or empty, and still have a next one. Raises ``Forbidden``."""

    reader: DidReader
    delegations: Delegations
    clock: Clock

    async def __call__(
        self, query: ListDelegationsQuery, caller: Caller, *, after: RowPosition | None
    ) -> DelegationPage:
        wanted, now, limit = self._filter(query, caller), self.clock.now(), query.limit
        items: list[ShownDelegation] = []
        looked_at = 0
        while True:
            batch = _BATCH if query.status is not None else limit + 1
            chains = await self.delegations.list(wanted, after=after, limit=batch)
            for place, chain in enumerate(chains):
                shown = ShownDelegation.from_chain(chain, now)
                after = RowPosition(chain.leaf.created_at, chain.leaf.id)
                if query.status in (None, shown.status.value):
                    items.append(shown)
                if len(items) == limit and (place + 1 < len(chains) or len(chains) == batch):
                    return DelegationPage(tuple(items), after)
            looked_at += len(chains)
            if len(chains) < batch:
                return DelegationPage(tuple(items), None)
            if looked_at >= LOOKED_AT_MOST:
                return DelegationPage(tuple(items), after)

    def _filter(self, query: ListDelegationsQuery, caller: Caller) -> DelegationFilter:
        holder, agent = query.holder_did, query.agent_did
        holds = None if holder is None else self.reader.parse(holder)
        if agent is not None:
            self.reader.parse(agent)
        caller.require_scope(READ)
        if caller.api_key is None:
            return DelegationFilter(party=str(caller.acting), holder=holder, agent=agent)
        if holds is not None:
            caller.api_key.require_target(holds)
        return DelegationFilter(holders=caller.api_key.allowed_targets, holder=holder, agent=agent)
