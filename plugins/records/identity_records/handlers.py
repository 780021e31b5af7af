"""The handlers of this extension."""

from __future__ import annotations

from datetime import timedelta

from identity_verification.domain.checks import verdict_of
from msgspec import Struct

from identity_codec.times import printed, printed_or_none
from identity_core.api.authors import sees_keys
from identity_core.api.credentials import LIST_SECONDS
from identity_core.api.decode import ROW_ID, page_of, position
from identity_core.api.proofs import anchor
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.callers import Caller
from identity_records import wire
from identity_records.labels import Labels, NamedDid
from identity_records.store import TimelineRow, VerificationRow
from identity_records.use_cases.audit import ListAuditLines
from identity_records.use_cases.credentials import GetCredentialStats
from identity_records.use_cases.delegations import SuspendDelegations
from identity_records.use_cases.disclosures import ResetDisclosures
from identity_records.use_cases.names import DescribedDid, DescribeDids
from identity_records.use_cases.timeline import GetDashboardTimeline
from identity_records.use_cases.verifications import ReadVerifications


class RecordsHandlers(Struct, frozen=True):
    """listAuditLines, getDashboardTimeline, listVerificationHistory, getVerificationStats, listLabels, setLabel, deleteLabel,
    resetDisclosures, suspendDelegations, getCredentialStats, describeDids."""

    lines: ListAuditLines
    timeline: GetDashboardTimeline
    verifications: ReadVerifications
    labels: Labels
    reset: ResetDisclosures
    suspend: SuspendDelegations
    credentials: GetCredentialStats
    describe: DescribeDids

    async def list_audit_lines(self, request: Request) -> Answer:
        query: wire.ListAuditLinesQuery = request.query
        lines = await self.lines(query, request.authenticated)
        items = tuple(
            wire.AuditLine(sequence=one.sequence, line=one.line.decode(), link=one.link.hex()) for one in lines
        )
        body = wire.AuditLog(items=items, next_after=lines[-1].sequence if lines else query.after)
        return Answer(200, body, headers=[NO_STORE])

    async def get_dashboard_timeline(self, request: Request) -> Answer:
        query: wire.GetDashboardTimelineQuery = request.query
        rows = await self.timeline(query, request.authenticated, before=position(query.cursor, ROW_ID, "timeline "))
        page, following = page_of(rows, query.limit, lambda row: row.id, "timeline ")
        return Answer(200, wire.Timeline(items=tuple(map(_item, page)), next_cursor=following), headers=[NO_STORE])

    async def list_verification_history(self, request: Request) -> Answer:
        query: wire.ListVerificationHistoryQuery = request.query
        reader = request.authenticated
        rows = await self.verifications.list(query, reader, before=position(query.cursor, ROW_ID, "verifications "))
        page, following = page_of(rows, query.limit, lambda row: row.id, "verifications ")
        body = wire.VerificationHistory(items=tuple(_row(row, reader) for row in page), next_cursor=following)
        return Answer(200, body, headers=[NO_STORE])

    async def get_verification_stats(self, request: Request) -> Answer:
        counts = await self.verifications.counts(request.query, request.authenticated)
        body = wire.VerificationStats(
            total=counts.total,
            valid=counts.valid,
            verified=counts.verified,
            refused=counts.total - counts.verified,
            reasons=tuple(wire.ReasonCount(code=code, count=count) for code, count in counts.reasons.items()),
        )
        return Answer(200, body, headers=[NO_STORE])

    async def list_labels(self, request: Request) -> Answer:
        found = await self.labels.list(request.authenticated)
        return Answer(200, wire.LabelList(items=tuple(map(_label, found))), headers=[NO_STORE])

    async def set_label(self, request: Request) -> Answer:
        named = await self.labels.set(request.path["namedDid"], request.body, request.context)
        return Answer(200, _label(named), headers=[NO_STORE])

    async def delete_label(self, request: Request) -> Answer:
        await self.labels.delete(request.path["namedDid"], request.context)
        return await self.list_labels(request)

    async def reset_disclosures(self, request: Request) -> Answer:
        credential, at = await self.reset(request.body, request.context)
        body = wire.DisclosuresReset(
            credential_id=credential.id, holder_did=str(credential.holder), reset_at=printed(at)
        )
        return Answer(200, body, headers=[NO_STORE])

    async def suspend_delegations(self, request: Request) -> Answer:
        suspended, failed = await self.suspend(request.body, request.context)
        refused = tuple(wire.RefusedSuspension(id=id, code=code) for id, code in failed)
        return Answer(200, wire.SuspendedDelegations(suspended=tuple(suspended), failed=refused), headers=[NO_STORE])

    async def get_credential_stats(self, request: Request) -> Answer:
        found, changed_at = await self.credentials(request.query, request.authenticated)
        known_at = None if changed_at is None else printed(changed_at + timedelta(seconds=LIST_SECONDS))
        lists = wire.StatusListTimes(published_at=printed_or_none(changed_at), next_at=known_at)
        items = tuple(
            wire.SchemaCounts(
                schema_id=schema_id,
                valid=one.valid,
                suspended=one.suspended,
                revoked=one.revoked,
                ending_in30_days=one.ending,
            )
            for schema_id, one in found.items()
        )
        return Answer(200, wire.CredentialStats(items=items, status_list=lists), headers=[NO_STORE])

    async def describe_dids(self, request: Request) -> Answer:
        found = await self.describe(request.body, request.authenticated)
        return Answer(200, wire.DescribedDids(items=tuple(map(_described, found))), headers=[NO_STORE])


def _described(one: DescribedDid) -> wire.DescribedDid:
    website, domain = one.website, None
    if website is not None:
        domain = wire.LinkedDomain(origin=str(website.origin), checked_at=printed(website.checked_at))
    return wire.DescribedDid(did=one.did, domain=domain, claim=one.claim)


def _label(named: NamedDid) -> wire.Label:
    return wire.Label(did=named.did, label=named.label, updated_at=printed(named.updated_at))


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


def _row(row: VerificationRow, reader: Caller) -> wire.VerificationHistoryRow:
    one, predicate = row.verification, None
    if one.attribute is not None and one.predicate_type is not None:
        predicate = wire.VerifiedPredicate(attribute_name=one.attribute, type=one.predicate_type)
    return wire.VerificationHistoryRow(
        id=row.id,
        ts=printed(one.at),
        verified=one.verified,
        verdict=verdict_of(one.verified, one.missing),
        missing=one.missing,
        verifier_did=one.verifier,
        key_fingerprint=one.fingerprint if sees_keys(reader) else None,
        holder_did=one.holder,
        issuer_did=one.issuer,
        schema_id=one.schema_id,
        proof_id=one.proof_id,
        predicate=predicate,
        reasons=tuple(wire.VerificationReason(code=code) for code in one.codes),
        anchor=anchor(row.anchor),
    )
