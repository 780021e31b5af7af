"""The pages for people over the handlers of the operations, and who is signed in."""

from __future__ import annotations

import secrets
import time
from contextlib import AsyncExitStack
from functools import partial
from typing import Any

from identity_core import __version__
from identity_core.api.credentials import CredentialHandlers
from identity_core.api.dashboard import DashboardHandlers
from identity_core.api.delegations import DelegationHandlers
from identity_core.api.dids import DidHandlers
from identity_core.api.ledger import LedgerHandlers
from identity_core.api.proofs import ProofHandlers
from identity_core.bootstrap.handlers import credential_handlers, delegation_handlers, did_handlers, ledger_handlers
from identity_core.bootstrap.ports import origin_of, sessions_secret
from identity_core.bootstrap.proofs import proof_handlers
from identity_core.bootstrap.runtime import Runtime
from identity_core.domain.delegations.delegation import AutonomyTable
from identity_core.extension.declaration import Contribution
from identity_core.extension.metrics import render_metrics
from identity_core.extension.opening import OpenKernel
from identity_core.settings import show
from identity_core.ui.anybody import PublicPages
from identity_core.ui.consent import ConsentPages
from identity_core.ui.holder import HolderPages
from identity_core.ui.operator import OperatorHandlers, OperatorPages, OwnInstallation
from identity_core.ui.operator_session import OperatorSessions
from identity_core.ui.pages import ui_forms, ui_pages
from identity_core.ui.plots import KeepFigures
from identity_core.ui.session import Sessions
from identity_core.use_cases.api_keys.authenticate import AuthenticateApiKey
from identity_core.use_cases.audit import CheckAuditChain
from identity_core.use_cases.auth.challenge import AuthenticateDid, ChallengeBook
from identity_core.use_cases.consents import HolderConsents
from identity_core.use_cases.credentials.read import CredentialAccess
from identity_core.use_cases.credentials.sealed import SealedCredentials
from identity_core.use_cases.dashboard import EraseRecords, GetDashboardTimeline, ResetDisclosures, RotateHolderSecret
from identity_core.use_cases.record import Record
from identity_core.use_cases.records import EraseHolder
from identity_core.values import value_class


@value_class
class PageTags:
    """The handlers that pages ask."""

    dids: DidHandlers
    ledger: LedgerHandlers
    delegations: DelegationHandlers
    credentials: CredentialHandlers
    proofs: ProofHandlers
    dashboard: DashboardHandlers


def page_tags(opened: Runtime, sealed_credentials: SealedCredentials, autonomy: AutonomyTable) -> PageTags:
    """Those of this installation."""
    record, credentials = Record(opened.store.activity), sealed_credentials.credentials
    access = CredentialAccess(credentials, opened.store.delegations, autonomy, opened.clock)
    return PageTags(
        dids=did_handlers(opened),
        ledger=ledger_handlers(opened),
        delegations=delegation_handlers(opened, autonomy),
        credentials=credential_handlers(opened, sealed_credentials, autonomy),
        proofs=proof_handlers(opened, sealed_credentials, autonomy),
        dashboard=DashboardHandlers(
            GetDashboardTimeline(opened.store.timeline),
            EraseRecords(opened.reader, EraseHolder(opened.store.retention, record, opened.clock)),
            ResetDisclosures(access, credentials, record, opened.clock),
            RotateHolderSecret(opened.store.holder_secrets, opened.keeper, opened.clock),
        ),
    )


async def pages_for_people(opened: Runtime, kernel: OpenKernel, stack: AsyncExitStack) -> Contribution:
    """Return the pages and their forms; nothing where the settings want no pages. The metrics are sampled until ``stack`` ends."""
    if not opened.settings.ui.enabled:
        return Contribution()
    common: dict[str, Any] = {
        "spent": opened.store.spent_challenges,
        "record": Record(opened.store.activity),
        "clock": opened.clock,
        "secret": await sessions_secret(opened.custodian),
        "random": secrets.token_bytes,
        "origin": origin_of(opened.settings),
        "mismatch": opened.mismatch,
    }
    tags = kernel.need(PageTags)
    signatures = AuthenticateDid(opened.reader, kernel.need(ChallengeBook), opened.clock)
    sessions = Sessions(reader=opened.reader, signatures=signatures, **common)
    api_keys = AuthenticateApiKey(opened.key_stores, opened.known_keys, opened.clock, opened.fingerprint)
    operators = OperatorSessions(api_keys=api_keys, **common)
    public = PublicPages(tags.dids, tags.ledger, tags.proofs, sessions, operators, __version__)
    consent = ConsentPages(tags.credentials, sessions, kernel.need(HolderConsents))
    holder = HolderPages(tags.dids, tags.delegations, tags.credentials, tags.proofs, tags.dashboard, consent, sessions)
    sampled = await stack.enter_async_context(KeepFigures(partial(render_metrics, kernel.find), time.time))
    shown = OperatorPages(kernel.need(OperatorHandlers), _installation(opened, sampled), operators)
    return Contribution(people=ui_pages(public, holder, shown), forms=ui_forms(public, holder, shown))


def _installation(opened: Runtime, sampled: KeepFigures) -> OwnInstallation:
    settings, plugins, jobs = opened.settings, opened.plugins, opened.jobs
    witnesses = () if jobs.feeder is None else jobs.feeder.fed
    return OwnInstallation(
        plugins=plugins.installed,
        settings=lambda: show(settings, plugins.settings_tables()),
        reasons=lambda: _reasons(opened),
        witnesses=lambda: {one.name: (one.reason, one.size) for one in witnesses},
        chain=CheckAuditChain(opened.store.audit),
        figures=sampled,
        panels=plugins.panels(),
    )


def _reasons(opened: Runtime) -> dict[str, str]:
    """Why a dependency of ``/ready`` is not well, where the job that looks after it has said so."""
    jobs, watched = opened.jobs, opened.key_watch
    found = {
        "storage": str(opened.mismatch() or jobs.watch.unremembered or jobs.watch.fault),
        "keys": "; ".join(watched.faults) or watched.fault,
        "anchoring": "" if jobs.anchorer is None else jobs.anchorer.fault,
        "statusLists": jobs.publisher.fault,
        "witnesses": "" if jobs.feeder is None else jobs.feeder.fault,
    }
    return {name: reason for name, reason in found.items() if reason}
