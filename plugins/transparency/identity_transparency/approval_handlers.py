"""The handlers of the approvals of logs that have witnesses."""

from __future__ import annotations

from typing import Final

from identity_codec.values import value_class
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.use_cases.dids.index import DidReader
from identity_transparency import wire
from identity_transparency.use_cases.approvals import Approvals, ApproveDidVersion, GetDidApprovals

MOST_WAITING: Final = 50


@value_class
class ApprovalHandlers:
    """getDidApprovals, approveDidVersion."""

    reader: DidReader
    approvals: GetDidApprovals
    approve: ApproveDidVersion

    async def get_did_approvals(self, request: Request) -> Answer:
        return approvals_shown(await self.approvals(self.reader.parse(request.path["did"])))

    async def approve_did_version(self, request: Request) -> Answer:
        did = self.reader.parse(request.path["did"])
        # Anyone may bring the proof; no authentication is required.
        context = RequestContext(request.operation_id, request.caller or Caller(), request.request_id)
        return approvals_shown(await self.approve(did, request.body, context))


def approvals_shown(found: Approvals) -> Answer:
    """200 with what is published and what waits."""
    waiting = tuple(
        wire.WaitingVersion(
            version_id=one.version_id,
            threshold=one.witnesses.threshold,
            witnesses=tuple(f"did:key:{key}" for key in sorted(one.witnesses.keys)),
            approved_by=tuple(f"did:key:{key}" for key in sorted(one.approved)),
        )
        for one in found.waiting[:MOST_WAITING]
    )
    body = wire.DidApprovals(
        did=str(found.did),
        versions=found.versions,
        published_versions=found.published,
        version_id=found.version_id,
        waiting=waiting,
    )
    return Answer(200, body, headers=[NO_STORE])
