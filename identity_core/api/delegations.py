"""The handlers of the tag ``delegations``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.api import delegation_parse, delegation_render, did_parse
from identity_core.api.request import Answer, Request
from identity_core.use_cases.delegations.create import CreateDelegation
from identity_core.use_cases.delegations.get import GetDelegation
from identity_core.use_cases.delegations.list import ListDelegations
from identity_core.use_cases.delegations.resume import ResumeDelegation
from identity_core.use_cases.delegations.revoke import RevokeDelegation
from identity_core.use_cases.delegations.revoke_ibct import RevokeIbct
from identity_core.use_cases.delegations.suspend import SuspendDelegation
from identity_core.use_cases.dids.reader import DidReader

_NO_STORE: Final = ("Cache-Control", "no-store")


@dataclass(frozen=True, slots=True)
class DelegationHandlers:
    """createDelegation, listDelegations, getDelegation, deleteDelegation, revokeDelegation, suspendDelegation, resumeDelegation,
    revokeIbct."""

    reader: DidReader
    create: CreateDelegation
    list: ListDelegations
    get: GetDelegation
    revoke: RevokeDelegation
    suspend: SuspendDelegation
    resume: ResumeDelegation
    ibct: RevokeIbct

    async def create_delegation(self, request: Request) -> Answer:
        wish = delegation_parse.creation(request.body, self.reader.parse)
        shown = await self.create(wish, did_parse.occasion(request))
        location = ("Location", f"/api/v1/delegations/{shown.delegation.id}")
        return Answer(201, delegation_render.record(shown, request.authenticated), headers=[_NO_STORE, location])

    async def list_delegations(self, request: Request) -> Answer:
        page = await self.list(
            delegation_parse.query(request.query, self.reader.parse),
            request.authenticated,
            after=delegation_parse.position(request.query.get("cursor")),
            limit=request.query.get("limit", 50),
        )
        return Answer(200, delegation_render.page(page, request.authenticated), headers=[_NO_STORE])

    async def get_delegation(self, request: Request) -> Answer:
        shown = await self.get(request.path["delegationId"], request.authenticated)
        return Answer(200, delegation_render.record(shown, request.authenticated), headers=[_NO_STORE])

    async def delete_delegation(self, request: Request) -> Answer:
        shown = await self.revoke(request.path["delegationId"], None, did_parse.occasion(request))
        return Answer(200, delegation_render.record(shown, request.authenticated), headers=[_NO_STORE])

    async def revoke_delegation(self, request: Request) -> Answer:
        reason = request.body.get("reason")
        shown = await self.revoke(request.path["delegationId"], reason, did_parse.occasion(request))
        return Answer(200, delegation_render.record(shown, request.authenticated), headers=[_NO_STORE])

    async def suspend_delegation(self, request: Request) -> Answer:
        shown = await self.suspend(request.path["delegationId"], did_parse.occasion(request))
        return Answer(200, delegation_render.record(shown, request.authenticated), headers=[_NO_STORE])

    async def resume_delegation(self, request: Request) -> Answer:
        shown = await self.resume(request.path["delegationId"], did_parse.occasion(request))
        return Answer(200, delegation_render.record(shown, request.authenticated), headers=[_NO_STORE])

    async def revoke_ibct(self, request: Request) -> Answer:
        wish = delegation_parse.ibct_revocation(request.body, self.reader.parse)
        revoked = await self.ibct(wish, did_parse.occasion(request))
        return Answer(200, delegation_render.revoked_ibct(wish, revoked), headers=[_NO_STORE])
