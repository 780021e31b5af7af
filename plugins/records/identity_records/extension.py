"""The extension ``records``: the sinks that write its rows, its operations and jobs over them."""

from __future__ import annotations

import contextlib
import logging
import secrets
from collections.abc import AsyncIterator, Sequence
from datetime import timedelta
from functools import partial
from typing import Final

from identity_did_web import WebSettings, build_fetch
from identity_did_web.fetch import Fetch, read_object
from identity_verification.store import StoredProofs, StoredVerifierChallenges
from identity_verification.use_cases.stored import ProofAccess

from identity_core.extension.declaration import Contribution, Extension, Gauge, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.activity import EventSink
from identity_core.ports.retention import RetentionRule
from identity_core.store import Store
from identity_core.use_cases.credentials.read import CredentialAccess
from identity_core.use_cases.delegations.change import SuspendDelegation
from identity_core.use_cases.delegations.read import DelegationAccess
from identity_core.use_cases.record import Record
from identity_records.audit import AuditLines, audit_of
from identity_records.handlers import RecordsHandlers
from identity_records.labels import Labels, StoredLabels
from identity_records.store import ActivityRows, StoredTimeline, StoredVerifications
from identity_records.use_cases.audit import CheckAuditChain, CutAuditLog, FollowAuditChain, ListAuditLines
from identity_records.use_cases.credentials import GetCredentialStats, StoredCredentialCounts
from identity_records.use_cases.delegations import SuspendDelegations
from identity_records.use_cases.disclosures import ResetDisclosures
from identity_records.use_cases.names import DescribeDids
from identity_records.use_cases.timeline import GetDashboardTimeline
from identity_records.use_cases.verifications import ReadVerifications
from identity_records.wire import DOCUMENT

log = logging.getLogger("identity.records")

TIMELINE: Final = RetentionRule(
    kind="timeline",
    expired="id < :before ORDER BY id",
    columns="id at kind outcome code actor holder agent issuer delegation_id credential_id proof_id",
    roles=("holder", "agent", "issuer"),
)
VERIFICATIONS: Final = RetentionRule(
    kind="verifications",
    expired="id < :before ORDER BY id",
    erase="UPDATE verifications SET holder = NULL, proof_id = NULL",
    columns="id at verified caller verifier fingerprint holder issuer schema_id proof_id attribute predicate_type codes",
    roles=("holder", "verifier"),
)
LABELS: Final = RetentionRule(
    kind="records_labels", expired="updated_at <= :until ORDER BY id", columns="id holder updated_at", roles=("holder",)
)


def record_sinks(store: Store, is_new: bool) -> Sequence[EventSink]:
    """Return the sinks of the audit log and of the other rows. In a new store, the log begins with a head that only the service can
    make."""
    audit = AuditLines(store)
    if is_new:
        store.database.write_now(audit.begin)
    return audit, ActivityRows(secrets.token_bytes)


@contextlib.asynccontextmanager
async def open_records(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension, whose jobs follow the chain of the audit log and cut off expired lines."""
    store, clock, days = kernel.need(Store), kernel.clock, kernel.settings.retention.audit_days
    audit = audit_of(store)
    proofs = StoredProofs.from_store(store)
    access = ProofAccess(proofs, StoredVerifierChallenges(store.database))
    verifications = StoredVerifications(store.database)
    labels, record = StoredLabels(store.database, kernel.secret("labels"), kernel.random), kernel.need(Record)
    web = kernel.settings.plugins.tables.read("web", WebSettings)
    fetch = build_fetch(web, log) if web.enabled else None
    handlers = RecordsHandlers(
        ListAuditLines(audit),
        GetDashboardTimeline(StoredTimeline(store.database)),
        ReadVerifications(verifications, proofs, access, clock),
        Labels(labels, record, clock),
        ResetDisclosures(kernel.need(CredentialAccess), store.credentials, record, clock),
        SuspendDelegations(
            store.delegations, SuspendDelegation(DelegationAccess(store.delegations), record, clock), clock
        ),
        GetCredentialStats(StoredCredentialCounts(store.database), clock),
        DescribeDids(kernel.dids, partial(fetch, read=read_object) if fetch is not None else None),
    )
    chain = FollowAuditChain(audit)
    cutter = None if days is None else CutAuditLog(audit, timedelta(days=days), clock, clock.monotonic)
    async with chain, cutter or contextlib.nullcontext(), _closing(fetch):
        broken = "A line of the audit log does not follow from the one before."
        stuck = "Lines past their time cannot go."
        gauges = (
            Gauge("audit_chain_broken", "livemax", f"1: {broken}", lambda: bool(chain.broken)),
            Gauge("audit_cut_stuck", "livemax", f"1: {stuck}", lambda: bool(cutter is not None and cutter.fault)),
        )
        probes = {"audit": lambda: _state_of(audit)}
        services: dict[type, object] = {RecordsHandlers: handlers, CheckAuditChain: CheckAuditChain(audit)}
        yield Contribution(handlers=(handlers,), services=services, gauges=gauges, probes=probes)


@contextlib.asynccontextmanager
async def _closing(fetch: Fetch | None) -> AsyncIterator[None]:
    yield
    if fetch is not None:
        fetch.close()


async def _state_of(audit: AuditLines) -> str:
    return "ok" if await audit.is_whole() else "degraded"


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="records",
        kernel=">=1,<2",
        document=DOCUMENT,
        open=open_records,
        vital=True,
        sinks=record_sinks,
        adopts=("timeline", "verifications"),
        migrations="identity_records.migrations",
        retention=(TIMELINE, VERIFICATIONS, LABELS),
    )
