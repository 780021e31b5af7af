"""The extension ``records``: its operations and jobs over the rows that the store's sinks write."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from datetime import timedelta

from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.extension.metrics import Gauge
from identity_core.plugin import hookimpl
from identity_core.store import Store
from identity_core.use_cases.proofs.stored import ProofAccess
from identity_records.handlers import RecordsHandlers
from identity_records.store import StoredTimeline, StoredVerifications
from identity_records.use_cases.audit import CheckAuditChain, CutAuditLog, FollowAuditChain, ListAuditLines
from identity_records.use_cases.timeline import GetDashboardTimeline
from identity_records.use_cases.verifications import GetVerificationStats, ListVerificationHistory
from identity_records.wire import DOCUMENT


@contextlib.asynccontextmanager
async def open_records(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension, whose jobs follow the chain of the audit log and cut off what is past its time."""
    store, clock, days = kernel.need(Store), kernel.clock, kernel.settings.retention.audit_days
    access = ProofAccess(store.proofs, store.verifier_challenges)
    verifications = StoredVerifications(store.database)
    handlers = RecordsHandlers(
        ListAuditLines(store.audit),
        GetDashboardTimeline(StoredTimeline(store.database)),
        ListVerificationHistory(verifications, store.proofs, access, clock),
        GetVerificationStats(verifications),
    )
    chain = FollowAuditChain(store.audit)
    cutter = None if days is None else CutAuditLog(store.audit, timedelta(days=days), clock, clock.monotonic)
    async with chain, cutter or contextlib.nullcontext():
        broken, stuck = (
            "A line of the audit log does not follow from the one before.",
            "Lines past their time cannot go.",
        )
        gauges = (
            Gauge("audit_chain_broken", "livemax", f"1: {broken}", lambda: bool(chain.broken)),
            Gauge("audit_cut_stuck", "livemax", f"1: {stuck}", lambda: bool(cutter is not None and cutter.fault)),
        )
        services = {RecordsHandlers: handlers, CheckAuditChain: CheckAuditChain(store.audit)}
        yield Contribution(handlers=(handlers,), services=services, gauges=gauges)


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(name="records", kernel=">=1,<2", document=DOCUMENT, open=open_records, vital=True)
