"""The handlers of the tag ``delegations``, and the form of delegations in answers. Answers must not be cached."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.times import printed, printed_or_none
from identity_core import wire
from identity_core.api.authors import author, revoker
from identity_core.api.decode import cursor, row_position
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.callers import Caller
from identity_core.use_cases.delegations.change import (
    DeleteDelegation,
    IbctRevocation,
    ResumeDelegation,
    RevokeDelegation,
    RevokeIbct,
    SuspendDelegation,
)
from identity_core.use_cases.delegations.create import CreateDelegation
from identity_core.use_cases.delegations.read import GetDelegation, ListDelegations, ShownDelegation

_ID: Final = "[0-9a-f-]{36}"


class DelegationHandlers(Struct, frozen=True):
    """Handlers of createDelegation, listDelegations, getDelegation, deleteDelegation, revokeDelegation,
    suspendDelegation, resumeDelegation, revokeIbct."""

    create: CreateDelegation
    list: ListDelegations
    get: GetDelegation
    revoke: RevokeDelegation
    delete: DeleteDelegation
    suspend: SuspendDelegation
    resume: ResumeDelegation
    ibct: RevokeIbct

    async def create_delegation(self, request: Request) -> Answer:
        def show(made: ShownDelegation) -> Answer:
            location = ("Location", f"/api/v1/delegations/{made.delegation.id}")
            return Answer(201, delegation(made, request.authenticated), headers=[NO_STORE, location])

        return show(await self.create(request.body, request.showing(show)))

    async def list_delegations(self, request: Request) -> Answer:
        query: wire.ListDelegationsQuery = request.query
        reader = request.authenticated
        found = await self.list(query, reader, after=row_position(query.cursor, _ID, "delegations "))
        end = None if found.end is None else cursor(found.end, "delegations ")
        items = tuple(delegation(shown, reader) for shown in found.items)
        return Answer(200, wire.DelegationList(items=items, next_cursor=end), headers=[NO_STORE])

    async def get_delegation(self, request: Request) -> Answer:
        return _answer_delegation(request, await self.get(request.path["delegationId"], request.authenticated))

    async def delete_delegation(self, request: Request) -> Answer:
        return _answer_delegation(request, await self.delete(request.path["delegationId"], request.context))

    async def revoke_delegation(self, request: Request) -> Answer:
        show = partial(_answer_delegation, request)
        return show(await self.revoke(request.path["delegationId"], request.body, request.showing(show)))

    async def suspend_delegation(self, request: Request) -> Answer:
        show = partial(_answer_delegation, request)
        return show(await self.suspend(request.path["delegationId"], request.showing(show)))

    async def resume_delegation(self, request: Request) -> Answer:
        show = partial(_answer_delegation, request)
        return show(await self.resume(request.path["delegationId"], request.showing(show)))

    async def revoke_ibct(self, request: Request) -> Answer:
        wish: wire.RevokeIbctRequest = request.body

        def show(revoked: IbctRevocation) -> Answer:
            body = wire.RevokedIbct(
                invoker=wish.invoker,
                id=wish.id,
                nonce=wish.nonce,
                revoked_at=printed(revoked.revoked_at),
                kept_until=printed(revoked.keep_until),
            )
            return Answer(200, body, headers=[NO_STORE])

        return show(await self.ibct(wish, request.showing(show)))


def delegation(shown: ShownDelegation, reader: Caller) -> wire.Delegation:
    """Return a delegation for ``reader``."""
    one = shown.delegation
    return wire.Delegation(
        id=one.id,
        uri=f"urn:uuid:{one.id}",
        holder_did=str(one.holder),
        agent_did=str(one.agent),
        grantor_did=str(one.grantor),
        parent_id=one.parent_id,
        actions=tuple(map(str, one.grants)),
        predicates=tuple(map(_predicate, one.predicates)),
        credential_ids=one.credential_ids,
        schema_ids=one.schema_ids,
        verifiers=one.verifiers,
        autonomy_level=one.autonomy_level,
        effective_autonomy_level=shown.effective_autonomy,
        max_uses=one.max_uses,
        uses=one.uses,
        max_refusals=one.max_refusals,
        refusals=one.refusals,
        max_thresholds=one.max_thresholds,
        thresholds=one.thresholds,
        max_depth=one.max_depth,
        not_before=printed(one.not_before),
        expires_at=printed(one.expires_at),
        purpose=one.purpose,
        status=shown.status.value,
        suspended_reason=one.suspended_reason and one.suspended_reason.value,
        created_at=printed(one.created_at),
        created_by=author(one.created_by, reader),
        revoked_at=printed_or_none(one.revoked_at),
        revoked_by=revoker(one.revoked_by, reader),
        revocation_reason=one.revocation_reason,
        version=one.version,
        holder_proof=_object(one.holder_proof),
        signed_request=_object(one.signed_request),
    )


def _predicate(kept: Mapping[str, Any]) -> wire.PinnedPredicate:
    return wire.PinnedPredicate(attribute_name=kept["attributeName"], type=kept["type"], values=tuple(kept["values"]))


def _answer_delegation(request: Request, shown: ShownDelegation) -> Answer:
    return Answer(200, delegation(shown, request.authenticated), headers=[NO_STORE])


def _object(value: Mapping[str, JsonValue] | None) -> dict[str, Any] | None:
    return None if value is None else dict(value)
