"""The handlers of the tag ``dashboard``."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.api import anchor_render, paging
from identity_core.api.auth import NO_STORE
from identity_core.api.request import Answer, Request
from identity_core.domain.times import printed
from identity_core.errors import JsonValue
from identity_core.ports.timeline import TimelineQuery, TimelineRow
from identity_core.use_cases.dashboard.timeline import GetDashboardTimeline


@dataclass(frozen=True, slots=True)
class DashboardHandlers:
    """getDashboardTimeline."""

    timeline: GetDashboardTimeline

    async def get_dashboard_timeline(self, request: Request) -> Answer:
        query = request.query
        limit = query.get("limit", 50)
        wish = TimelineQuery(
            dids=None,
            kind=query.get("kind"),
            since=paging.time_in(query, "after"),
            until=paging.time_in(query, "before"),
            before=paging.row_cursor(query),
            limit=limit + 1,
        )
        page, following = paging.page_of(await self.timeline(wish, request.authenticated), limit)
        return Answer(200, {"items": [_item(row) for row in page], "nextCursor": following}, headers=[NO_STORE])


def _item(row: TimelineRow) -> dict[str, JsonValue]:
    """``TimelineItem`` of the document."""
    entry = row.entry
    return {
        "id": row.id,
        "at": printed(entry.at),
        "kind": entry.kind,
        "outcome": entry.outcome,
        "code": entry.code,
        "actor": entry.actor,
        "holderDid": entry.holder,
        "agentDid": entry.agent,
        "issuerDid": entry.issuer,
        "delegationId": entry.delegation_id,
        "credentialId": entry.credential_id,
        "proofId": entry.proof_id,
        "anchor": anchor_render.anchor(row.anchor),
    }
