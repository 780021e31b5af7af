"""The handlers of the approvals of logs that have witnesses."""

from __future__ import annotations

from msgspec import Struct

from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.use_cases.dids.index import DidReader
from identity_transparency.use_cases.approvals import LogApprovals


class ApprovalHandlers(Struct, frozen=True):
    """getDidApprovals, approveDidVersion."""

    reader: DidReader
    approvals: LogApprovals

    async def get_did_approvals(self, request: Request) -> Answer:
        return Answer(200, await self.approvals.pending(self.reader.parse(request.path["did"])), headers=[NO_STORE])

    async def approve_did_version(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        # Anyone may bring the proof; no authentication is required.
        context = RequestContext(request.operation_id, request.caller or Caller(), request.request_id)
        return Answer(200, await self.approvals.approve(did, request.body, context), headers=[NO_STORE])
