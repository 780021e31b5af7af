"""createDelegation: a holder grants permissions to an agent, or an agent delegates a part of its permissions.

The record is an upper limit: every use needs an IBCT that the holder signs. So an operator may create one for a holder. A child
inherits omitted members from its parent. Null means "without limit", and is refused if the parent has a limit.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_client.action import MAX_SET_SIZE, MAX_TEXT, PREDICATE_NAMES, Grant, PredicateType, pin_of
from identity_codec.structs import UNSET, UnsetType, plain, value_or
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import (
    DEFAULT_MAX_REFUSALS,
    DEFAULT_MAX_THRESHOLDS,
    MAX_GRANTS,
    AutonomyTable,
    Delegation,
    check_holder_proof,
)
from identity_core.domain.dids.did import Did
from identity_core.domain.inputs import member_time, optional_time
from identity_core.errors import Forbidden, InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.use_cases.delegations.read import WRITE, DelegationAccess, ShownDelegation
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_core.wire import CreateDelegationRequest, PinnedPredicate


def compile_grants(actions: tuple[str, ...], predicates: tuple[PinnedPredicate, ...]) -> tuple[Grant, ...]:
    """Return the grants of ``actions`` and of ``predicates``, each once.

    Raises ``InvalidRequest``: when an entry is malformed; ``details`` name the member and the place."""
    grants = dict.fromkeys(_grant(text, place) for place, text in enumerate(actions))
    if sum(len(value) for each in predicates for value in each.values if isinstance(value, list)) > MAX_SET_SIZE:
        says = f"The sets of a delegation have at most {MAX_SET_SIZE} elements in all."
        raise InvalidRequest(says, details={"member": "predicates"})
    for place, predicate in enumerate(predicates):
        grants |= dict.fromkeys(_compiled(predicate, place))
        # The rest would cost as much again, and there are too many already.
        if len(grants) > MAX_GRANTS:
            break
    if not all((grant.attribute or "").isprintable() for grant in grants):
        raise InvalidRequest("The name of an attribute is of printable characters.")
    return tuple(grants)


def _grant(text: str, place: int) -> Grant:
    try:
        return Grant.parse(text)
    except ValueError as error:
        raise _refused("actions", place, str(error)) from error


def _compiled(predicate: PinnedPredicate, place: int) -> list[Grant]:
    """Return one grant for each value of a predicate."""
    try:
        kind = predicate.type
        if kind not in PREDICATE_NAMES:
            raise ValueError(f"the type is not one of {', '.join(PREDICATE_NAMES)}")
        takes_array = kind == PredicateType.SET_MEMBER
        room = MAX_TEXT - len(f"{Grant(predicate.attribute_name, kind, None)}.")
        grants = [Grant(predicate.attribute_name, kind, pin_of(value)) for value in predicate.values]
        if any(isinstance(value, list) is not takes_array for value in predicate.values):
            raise ValueError(f"the values of {kind} are {'' if takes_array else 'no '}arrays")
        if any(len(grant.pin or "") > room for grant in grants):
            raise ValueError("the name of the attribute is too long")
    except ValueError as error:
        raise _refused("predicates", place, str(error)) from error
    return grants


def _refused(member: str, place: int, reason: str) -> InvalidRequest:
    return InvalidRequest(
        f"An entry of {member} is not one.", details={"member": member, "place": place, "reason": reason}
    )


CREATED: Final = "delegation.created"


class _Parts(Struct, frozen=True):
    """The parsed texts of a request. ``grants`` contains the compiled ``predicates`` too."""

    holder: Did
    agent: Did
    grants: tuple[Grant, ...]
    not_before: datetime | None
    expires_at: datetime

    @classmethod
    def parse(cls, wish: CreateDelegationRequest, reader: DidReader) -> _Parts:
        """Parse the texts. Raises ``InvalidDid``, ``InvalidRequest``."""
        return cls(
            holder=reader.parse(wish.holder_did),
            agent=reader.parse(wish.agent_did),
            grants=compile_grants(value_or(wish.actions, ()), value_or(wish.predicates, ())),
            not_before=optional_time(wish.not_before, "notBefore"),
            expires_at=member_time(wish.expires_at, "expiresAt"),
        )


class CreateDelegation(Struct, frozen=True):
    """Use case createDelegation. Raises ``Forbidden``, ``InvalidRequest``. Raises ``DidNotFound`` and ``DidDeactivated`` for holder and
    agent. Raises ``DelegationNotFound``: when the caller is not a party of the parent. Raises ``DelegationRevoked``,
    ``DelegationExpired`` or ``DelegationNotActive``: when the parent is not in force. Raises ``AutonomyTooLow``, ``DelegationInvalid``
    and ``DelegationNotNarrower`` for a child."""

    reader: DidReader
    access: DelegationAccess
    record: Record
    clock: Clock
    random: Callable[[int], bytes]
    autonomy: AutonomyTable
    longest_life: timedelta

    async def __call__(self, wish: CreateDelegationRequest, context: RequestContext) -> ShownDelegation:
        now = self.clock.now()
        parts = _Parts.parse(wish, self.reader)
        context.caller.require_scope(WRITE)
        above = await self._above(wish, context.caller)
        grantor = parts.holder if above is None else above.leaf.agent
        _check_author(context.caller, parts.holder, grantor)
        holder = (await self.reader.active(parts.holder)).head.state
        await self.reader.active(parts.agent)
        if above is not None:
            above.check_state(now)
            self.autonomy.check_delegate(above.effective_autonomy)
        delegation = self._delegation(wish, parts, grantor, above, context.caller, now)
        self._check_times(delegation, now)
        chain = DelegationChain((delegation, *(above.records if above is not None else ())))
        chain.check_links()
        if delegation.holder_proof is not None and delegation.signed_request is not None:
            check_holder_proof(delegation.holder_proof, delegation.signed_request, holder.document, now)
        # A parallel revocation of the parent also revokes the child, because reads evaluate the chain.
        shown = ShownDelegation.from_chain(chain, now)
        with context.keeping(lambda _: shown):
            await self.access.delegations.add(delegation)
        await self.record(context, delegation.event(CREATED), now)
        return shown

    async def _above(self, wish: CreateDelegationRequest, caller: Caller) -> DelegationChain | None:
        """Return the checked chain of the parent, or None."""
        if wish.parent_id is UNSET:
            return None
        chain = await self.access.find(wish.parent_id, caller, WRITE)
        chain.check_sound(chain.leaf.holder, chain.leaf.agent)
        return chain

    def _delegation(
        self,
        wish: CreateDelegationRequest,
        parts: _Parts,
        grantor: Did,
        above: DelegationChain | None,
        caller: Caller,
        now: datetime,
    ) -> Delegation:
        if parts.agent == parts.holder:
            raise InvalidRequest("Holder and agent are the same.", details={"member": "agentDid"})
        if not 1 <= len(parts.grants) <= MAX_GRANTS:
            raise InvalidRequest(f"A delegation has 1 to {MAX_GRANTS} grants.", details={"member": "actions"})
        parent = above.leaf if above is not None else None
        # The holder signs the request without the signature.
        body = {} if wish.holder_proof is UNSET else plain(wish)
        # Times are truncated to whole seconds, as in answers, so that a time copied from a record is never earlier than the parent's.
        begins = max(now.replace(microsecond=0), parent.not_before if parent else now.replace(microsecond=0))
        return Delegation(
            id=str(uuid.UUID(bytes=self.random(16), version=4)),
            holder=parts.holder,
            agent=parts.agent,
            grantor=grantor,
            parent_id=value_or(wish.parent_id, None),
            grants=parts.grants,
            credential_ids=value_or(_unique(wish.credential_ids), parent.credential_ids if parent else None),
            schema_ids=value_or(_unique(wish.schema_ids), parent.schema_ids if parent else None),
            verifiers=value_or(_unique(wish.verifiers), parent.verifiers if parent else None),
            autonomy_level=wish.autonomy_level,
            max_uses=value_or(wish.max_uses, parent.max_uses if parent else None),
            max_refusals=value_or(wish.max_refusals, parent.max_refusals if parent else DEFAULT_MAX_REFUSALS),
            max_thresholds=value_or(wish.max_thresholds, parent.max_thresholds if parent else DEFAULT_MAX_THRESHOLDS),
            max_depth=value_or(wish.max_depth, 0),
            not_before=parts.not_before or begins,
            expires_at=parts.expires_at,
            created_at=now,
            created_by=caller.author,
            purpose=value_or(wish.purpose, None),
            predicates=tuple(plain(value_or(wish.predicates, ()))),
            holder_proof=body.pop("holderProof", None),
            signed_request=body or None,
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
    """Check the caller. Raises ``Forbidden``: when it is neither the grantor, nor an operator that may act for holder and grantor."""
    if caller.api_key is not None:
        caller.api_key.require_target(holder)
        caller.api_key.require_target(grantor)
    elif caller.acting != grantor:
        raise Forbidden("A delegation is made by the holder, or by the agent of its parent.")


def _unique(names: tuple[str, ...] | UnsetType | None) -> tuple[str, ...] | UnsetType | None:
    return tuple(dict.fromkeys(names)) if isinstance(names, tuple) else names
