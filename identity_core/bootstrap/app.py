"""The application over the open ports: every noun's handlers, the gate in front of them, and the document that names them.

Imported only where a server starts.
"""

from __future__ import annotations

import secrets
from contextlib import AsyncExitStack

from identity_core.api.app import build_app
from identity_core.api.audit import AuditHandlers
from identity_core.api.contract import ContractError, load_document
from identity_core.api.dashboard import DashboardHandlers
from identity_core.api.events import EventHandlers
from identity_core.api.guard import Guard, request_ids
from identity_core.api.idempotency import Idempotency
from identity_core.api.metadata import metadata_pages
from identity_core.api.refusals import AuditRefusals
from identity_core.api.security import DOCUMENT_SCHEMES
from identity_core.api.storage_gate import StorageGate
from identity_core.bootstrap.choices import autonomy_of, origin_of
from identity_core.bootstrap.handlers.callers import api_key_handlers, auth_handlers, challenge_book, gate_of, quotas_of
from identity_core.bootstrap.handlers.credentials import credential_handlers
from identity_core.bootstrap.handlers.delegations import delegation_handlers
from identity_core.bootstrap.handlers.dids import did_handlers
from identity_core.bootstrap.handlers.ledger import ledger_handlers
from identity_core.bootstrap.handlers.proofs import (
    proof_handlers,
    verification_handlers,
)
from identity_core.bootstrap.handlers.service import open_metrics, service_handlers
from identity_core.bootstrap.own_keys import open_sealed_credentials
from identity_core.bootstrap.runtime import Runtime
from identity_core.settings import StartError
from identity_core.use_cases.audit.list import ListAuditLines
from identity_core.use_cases.auth.token_keys import TokenKeys
from identity_core.use_cases.dashboard.timeline import GetDashboardTimeline
from identity_core.use_cases.events.list import ListEvents


async def open_app(opened: Runtime, stack: AsyncExitStack) -> Guard:
    """The application; ``stack`` ends what runs beside it. Raises ``StartError`` where handlers and document differ."""
    settings, store, clock = opened.settings, opened.store, opened.clock
    sealed_credentials, autonomy = await open_sealed_credentials(opened.custodian, store), autonomy_of(settings)
    token_keys = await TokenKeys.open(opened.custodian, settings.token.key_number)
    challenges, quotas = challenge_book(opened), quotas_of(opened)
    gate = StorageGate(gate_of(opened, token_keys, challenges, quotas), lambda: opened.watch.mismatch)
    await opened.plugins.proof_workers_settled()
    measured = open_metrics(opened, stack)
    handlers = (
        did_handlers(opened),
        auth_handlers(opened, token_keys, challenges),
        EventHandlers(ListEvents(store.documents)),
        ledger_handlers(opened),
        service_handlers(opened, measured),
        delegation_handlers(opened, autonomy),
        credential_handlers(opened, sealed_credentials, autonomy),
        proof_handlers(opened, sealed_credentials, autonomy),
        verification_handlers(opened),
        DashboardHandlers(GetDashboardTimeline(store.timeline)),
        AuditHandlers(ListAuditLines(store.audit)),
        api_key_handlers(opened),
    )
    try:
        return build_app(
            load_document(),
            handlers,
            gate=gate,
            around=Idempotency(store.idempotency, clock, opened.answers_secret, secrets.token_bytes),
            refusals=AuditRefusals(store.audit, clock, quotas),
            schemes=DOCUMENT_SCHEMES,
            observe=measured.observe,
            identify=request_ids(secrets.token_hex(4)),
            monotonic=clock.monotonic,
            lifespan=None,
            pages=metadata_pages(origin_of(settings)),
            limit=settings.server.max_requests_in_flight,
            max_body=settings.server.max_body_bytes,
            body_seconds=settings.server.body_timeout_seconds,
            validate=False,
        )
    except ContractError as error:
        raise StartError(str(error)) from error
