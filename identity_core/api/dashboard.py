"""The handlers of the tag ``dashboard``."""

from __future__ import annotations

from identity_core import wire
from identity_core.api.anchors import anchor
from identity_core.api.request import NO_STORE, ROW_ID, Answer, Request, page_of, position
from identity_core.codec.times import printed
from identity_core.domain.credentials.holder_secret import generation_of
from identity_core.domain.dids.did import Did
from identity_core.ports.activity import TimelineRow
from identity_core.ports.holder_secrets import SecretRotation
from identity_core.use_cases.dashboard import GetDashboardTimeline, ResetDisclosures, RotateHolderSecret
from identity_core.values import value_class


@value_class
class DashboardHandlers:
    """getDashboardTimeline, resetDisclosures, rotateHolderSecret."""

    timeline: GetDashboardTimeline
    reset: ResetDisclosures
    rotate: RotateHolderSecret

    async def get_dashboard_timeline(self, request: Request) -> Answer:
        query: wire.GetDashboardTimelineQuery = request.query
        rows = await self.timeline(query, request.authenticated, before=position(query.cursor, ROW_ID, "timeline "))
        page, following = page_of(rows, query.limit, lambda row: row.id, "timeline ")
        return Answer(200, wire.Timeline(items=tuple(map(_item, page)), next_cursor=following), headers=[NO_STORE])

    async def reset_disclosures(self, request: Request) -> Answer:
        credential, at = await self.reset(request.body, request.context)
        body = wire.DisclosuresReset(
            credential_id=credential.id, holder_did=str(credential.holder), reset_at=printed(at)
        )
        return Answer(200, body, headers=[NO_STORE])

    async def rotate_holder_secret(self, request: Request) -> Answer:
        return _rotated(await self.rotate(request.body, request.showing(_rotated)))


def _rotated(found: tuple[Did, SecretRotation]) -> Answer:
    holder, done = found
    bound = tuple(
        wire.BoundToFormerSecret(credential_id=one.id, issuer_did=one.issuer, generation=generation_of(one.secret))
        for one in done.credentials
    )
    body = wire.HolderSecretRotation(
        holder_did=str(holder), generation=done.generation, credentials=bound, complete=done.is_last
    )
    return Answer(200, body, headers=[NO_STORE])


def _item(row: TimelineRow) -> wire.TimelineItem:
    entry = row.entry
    return wire.TimelineItem(
        id=row.id,
        at=printed(entry.at),
        kind=entry.kind,
        outcome=entry.outcome,
        code=entry.code,
        actor=entry.actor,
        holder_did=entry.holder,
        agent_did=entry.agent,
        issuer_did=entry.issuer,
        delegation_id=entry.delegation_id,
        credential_id=entry.credential_id,
        proof_id=entry.proof_id,
        anchor=anchor(row.anchor),
    )
