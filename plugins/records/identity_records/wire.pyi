"""GENERATED from openapi/ by `python -m openapi.build`: what identity_records.wire makes of the document. Do not edit."""

from typing import Any, Literal

from msgspec import UNSET, Struct, UnsetType
from identity_core.wire import Anchor

DOCUMENT: bytes


class AuditLine(Struct, frozen=True, kw_only=True):
    sequence: int
    line: str
    link: str

class AuditLog(Struct, frozen=True, kw_only=True):
    items: tuple[AuditLine, ...]
    next_after: int

class CredentialStats(Struct, frozen=True, kw_only=True):
    items: tuple[SchemaCounts, ...]
    status_list: StatusListTimes

class DescribeDidsRequest(Struct, frozen=True, kw_only=True):
    dids: tuple[str, ...]

class DescribedDid(Struct, frozen=True, kw_only=True):
    did: str
    domain: LinkedDomain | None
    claim: str | None

class DescribedDids(Struct, frozen=True, kw_only=True):
    items: tuple[DescribedDid, ...]

class DisclosuresReset(Struct, frozen=True, kw_only=True):
    credential_id: str
    holder_did: str
    reset_at: str

class GetCredentialStatsQuery(Struct, frozen=True, kw_only=True):
    issuer_did: str

class GetDashboardTimelineQuery(Struct, frozen=True, kw_only=True):
    after: str | None = None
    before: str | None = None
    kind: str | None = None
    limit: int = 50
    cursor: str | None = None

class GetVerificationStatsQuery(Struct, frozen=True, kw_only=True):
    from_: str | None = None
    to: str | None = None
    verified: bool | None = None
    holder_did: str | None = None
    issuer_did: str | None = None

class Label(Struct, frozen=True, kw_only=True):
    did: str
    label: str
    updated_at: str

class LabelList(Struct, frozen=True, kw_only=True):
    items: tuple[Label, ...]

class LinkedDomain(Struct, frozen=True, kw_only=True):
    origin: str
    checked_at: str

class ListAuditLinesQuery(Struct, frozen=True, kw_only=True):
    after: int = 0
    limit: int = 100

class ListVerificationHistoryQuery(Struct, frozen=True, kw_only=True):
    from_: str | None = None
    to: str | None = None
    verified: bool | None = None
    holder_did: str | None = None
    issuer_did: str | None = None
    limit: int = 50
    cursor: str | None = None

class ReasonCount(Struct, frozen=True, kw_only=True):
    code: str
    count: int

class RefusedSuspension(Struct, frozen=True, kw_only=True):
    id: str
    code: str

class ResetDisclosuresRequest(Struct, frozen=True, kw_only=True):
    credential_id: str

class SchemaCounts(Struct, frozen=True, kw_only=True):
    schema_id: str
    valid: int
    suspended: int
    revoked: int
    ending_in30_days: int

class SetLabelRequest(Struct, frozen=True, kw_only=True):
    label: str

class StatusListTimes(Struct, frozen=True, kw_only=True):
    published_at: str | None
    next_at: str | None

class SuspendDelegationsRequest(Struct, frozen=True, kw_only=True):
    agent_did: str | UnsetType = UNSET
    all: bool | UnsetType = UNSET

class SuspendedDelegations(Struct, frozen=True, kw_only=True):
    suspended: tuple[str, ...]
    failed: tuple[RefusedSuspension, ...]

class Timeline(Struct, frozen=True, kw_only=True):
    items: tuple[TimelineItem, ...]
    next_cursor: str | None

class TimelineItem(Struct, frozen=True, kw_only=True):
    id: str
    at: str
    kind: str
    outcome: str
    code: str | None
    actor: str | None
    holder_did: str | None
    agent_did: str | None
    issuer_did: str | None
    delegation_id: str | None
    credential_id: str | None
    proof_id: str | None
    anchor: Anchor | None

class VerificationHistory(Struct, frozen=True, kw_only=True):
    items: tuple[VerificationHistoryRow, ...]
    next_cursor: str | None

class VerificationHistoryRow(Struct, frozen=True, kw_only=True):
    id: str
    ts: str
    verified: bool
    verdict: Literal["valid", "unbound", "invalid"]
    missing: tuple[Literal["predicate", "challenge", "domain", "issuerDid"], ...]
    verifier_did: str | None
    key_fingerprint: str | None
    holder_did: str | None
    issuer_did: str | None
    schema_id: str | None
    proof_id: str | None
    predicate: VerifiedPredicate | None
    reasons: tuple[VerificationReason, ...]
    anchor: Anchor | None

class VerificationReason(Struct, frozen=True, kw_only=True):
    code: str

class VerificationStats(Struct, frozen=True, kw_only=True):
    total: int
    valid: int
    verified: int
    refused: int
    reasons: tuple[ReasonCount, ...]

class VerifiedPredicate(Struct, frozen=True, kw_only=True):
    attribute_name: str
    type: str
