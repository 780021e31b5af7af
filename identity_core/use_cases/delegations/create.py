"""createDelegation: a holder allows an agent something, or an agent passes on a part of what it was allowed.

The record is a ceiling: nothing happens under it without an IBCT that the holder signs. So an operator may make one for a
holder. What a child leaves out it has from its parent; null says: without limit, and is refused where the parent has one.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Final, TypeVar

from identity_core.domain.action import Grant
from identity_core.domain.autonomy import AutonomyTable
from identity_core.domain.caller import Caller
from identity_core.domain.delegation import DEFAULT_MAX_REFUSALS, DEFAULT_MAX_THRESHOLDS, MAX_GRANTS, Delegation
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.domain.did import Did
from identity_core.domain.holder_proof import check_holder_proof
from identity_core.errors import Forbidden, InvalidRequest, JsonValue
from identity_core.ports.clock import Clock
from identity_core.use_cases.delegations.access import (
    WRITE,
    DelegationAccess,
    ShownDelegation,
    acting_did,
    author,
)
from identity_core.use_cases.delegations.journal import Journal
from identity_core.use_cases.dids.reader import DidReader
from identity_core.use_cases.dids.writer import RequestContext

CREATED: Final = "delegation.created"

T = TypeVar("T")


class Unsaid(Enum):
    """A member that the request leaves out; null is something else."""

    UNSAID = "unsaid"


UNSAID: Final = Unsaid.UNSAID
Listed = tuple[str, ...] | None | Unsaid
Limit = int | None | Unsaid


@dataclass(frozen=True, slots=True)
class NewDelegation:
    """The request. ``grants`` holds the compiled ``predicates`` too; ``request`` is what ``holder_proof`` signs."""

    holder: Did
    agent: Did
    parent_id: str | None
    grants: tuple[Grant, ...]
    predicates: tuple[Mapping[str, JsonValue], ...]
    credential_ids: Listed
    schema_ids: Listed
    verifiers: Listed
    autonomy_level: int
    max_uses: Limit
    max_refusals: Limit
    max_thresholds: Limit
    max_depth: int
    not_before: datetime | None
    expires_at: datetime
    purpose: str | None
    holder_proof: Mapping[str, JsonValue] | None
    request: Mapping[str, JsonValue]


@dataclass(frozen=True, slots=True)
class CreateDelegation:
    """Raises ``Forbidden``; ``DelegationNotFound`` for a parent in which the caller has no part; ``DelegationRevoked``,
    ``DelegationExpired`` and ``DelegationNotActive`` for one that is not in force; ``AutonomyTooLow``, ``DelegationInvalid`` and
    ``DelegationNotNarrower`` for a child; ``DidNotFound`` and ``DidDeactivated`` for holder and agent; ``InvalidRequest``."""

    reader: DidReader
    access: DelegationAccess
    journal: Journal
    clock: Clock
    random: Callable[[int], bytes]
    autonomy: AutonomyTable
    longest_life: timedelta

    async def __call__(self, wish: NewDelegation, occasion: RequestContext) -> ShownDelegation:
        now = self.clock.now()
        occasion.caller.require_scope(WRITE)
        above = await self._above(wish, occasion.caller)
        grantor = wish.holder if above is None else above.leaf.agent
        _check_author(occasion.caller, wish.holder, grantor)
        holder = (await self.reader.active(wish.holder)).head.state
        await self.reader.active(wish.agent)
        if above is not None:
            above.check_state(now)
            self.autonomy.check_delegate(above.effective_autonomy)
        delegation = self._delegation(wish, grantor, above, occasion.caller, now)
        self._check_times(delegation, now)
        chain = DelegationChain((delegation, *(above.records if above is not None else ())))
        chain.check_links()
        if wish.holder_proof is not None:
            check_holder_proof(wish.holder_proof, wish.request, holder.document, now)
        # A parent that is revoked in this moment takes the child with it: that is read along the chain, not written.
        await self.access.delegations.add(delegation)
        await self.journal.delegation(CREATED, delegation, occasion, now)
        return ShownDelegation.of(chain, now)

    async def _above(self, wish: NewDelegation, caller: Caller) -> DelegationChain | None:
        """The chain that a child would stand under, sound."""
        if wish.parent_id is None:
            return None
        chain = await self.access.find(wish.parent_id, caller, WRITE)
        chain.check_sound(chain.leaf.holder, chain.leaf.agent)
        return chain

    def _delegation(
        self, wish: NewDelegation, grantor: Did, above: DelegationChain | None, caller: Caller, now: datetime
    ) -> Delegation:
        if wish.agent == wish.holder:
            raise InvalidRequest("Holder and agent are the same.", details={"member": "agentDid"})
        if not 1 <= len(wish.grants) <= MAX_GRANTS:
            raise InvalidRequest(f"A delegation has 1 to {MAX_GRANTS} grants.", details={"member": "actions"})
        parent = above.leaf if above is not None else None
        # Times are printed in whole seconds, so that whoever copies one out of a record never asks for an earlier one.
        begins = max(now.replace(microsecond=0), parent.not_before if parent else now.replace(microsecond=0))
        return Delegation(
            id=str(uuid.UUID(bytes=self.random(16), version=4)),
            holder=wish.holder,
            agent=wish.agent,
            grantor=grantor,
            parent_id=wish.parent_id,
            grants=wish.grants,
            credential_ids=_said(wish.credential_ids, parent.credential_ids if parent else None),
            schema_ids=_said(wish.schema_ids, parent.schema_ids if parent else None),
            verifiers=_said(wish.verifiers, parent.verifiers if parent else None),
            autonomy_level=wish.autonomy_level,
            max_uses=_said(wish.max_uses, parent.max_uses if parent else None),
            max_refusals=_said(wish.max_refusals, parent.max_refusals if parent else DEFAULT_MAX_REFUSALS),
            max_thresholds=_said(wish.max_thresholds, parent.max_thresholds if parent else DEFAULT_MAX_THRESHOLDS),
            max_depth=wish.max_depth,
            not_before=begins if wish.not_before is None else wish.not_before,
            expires_at=wish.expires_at,
            created_at=now,
            created_by=author(caller),
            purpose=wish.purpose,
            predicates=wish.predicates,
            holder_proof=wish.holder_proof,
            signed_request=None if wish.holder_proof is None else wish.request,
        )

    def _check_times(self, delegation: Delegation, now: datetime) -> None:
        if delegation.expires_at <= max(now, delegation.not_before):
            raise InvalidRequest("expiresAt is past, or not after notBefore.", details={"member": "expiresAt"})
        if delegation.expires_at > now + self.longest_life:
            days = self.longest_life / timedelta(days=1)
            raise InvalidRequest(
                f"A delegation may expire {days:g} days ahead at the most.",
                details={"member": "expiresAt", "maxLifetimeDays": days},
            )


def _check_author(caller: Caller, holder: Did, grantor: Did) -> None:
    """Raises ``Forbidden`` unless the caller is the grantor, or an operator who may act for holder and grantor."""
    if caller.api_key is not None:
        caller.api_key.require_target(holder)
        caller.api_key.require_target(grantor)
    elif acting_did(caller) != grantor:
        raise Forbidden("A delegation is made by the holder, or by the agent of its parent.")


def _said(value: T | Unsaid, otherwise: T) -> T:
    return otherwise if isinstance(value, Unsaid) else value
