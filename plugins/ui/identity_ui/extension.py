"""The extension ``ui``: pages over the handlers of the operations, and who is signed in."""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import AsyncIterator
from typing import Any

from identity_consents.handlers import RequestHandlers
from identity_consents.waiting import HolderQuestions
from identity_records.handlers import RecordsHandlers
from identity_records.use_cases.audit import CheckAuditChain
from identity_transparency.ledger_handlers import LedgerHandlers
from identity_verification.handlers import VerificationHandlers

from identity_core.api.credentials import CredentialHandlers
from identity_core.api.delegations import DelegationHandlers
from identity_core.api.dids import DidHandlers
from identity_core.api.security import Gate
from identity_core.extension.declaration import Contribution, Extension, Kernel, PeoplePages, RenderedMetrics
from identity_core.extension.opening import InstallationState
from identity_core.plugin import hookimpl
from identity_core.ports.custodian import Custodian
from identity_core.use_cases.record import Record
from identity_ui import pages
from identity_ui.anybody import PublicPages
from identity_ui.holder import HolderPages
from identity_ui.names import Names
from identity_ui.operator import OperatorPages
from identity_ui.operator_session import OperatorSessions
from identity_ui.pages import ui_forms, ui_pages
from identity_ui.plots import KeepFigures
from identity_ui.render import ASK, CONSENT, HIDDEN
from identity_ui.session import Sessions
from identity_ui.verifier import VerifierPages

KEY = "answers"
LABEL = b"identity: sessions of the pages, v1"


async def sessions_secret(custodian: Custodian) -> bytes:
    """Return what authenticates the cookies of sessions; another secret ends them. All processes derive the same 32 bytes."""
    return hashlib.sha256(await custodian.sign(KEY, LABEL)).digest()


@contextlib.asynccontextmanager
async def open_ui(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension; it contributes nothing if ``ui.enabled`` is false. The metrics are sampled until it is closed."""
    if not kernel.settings.ui.enabled:
        yield Contribution()
        return
    gate = kernel.need(Gate)
    common: dict[str, Any] = {
        "spent": kernel.challenges,
        "record": kernel.need(Record),
        "clock": kernel.clock,
        "secret": await sessions_secret(kernel.need(Custodian)),
        "random": kernel.random,
        "origin": kernel.origin,
        "mismatch": kernel.refusal,
    }
    sessions = Sessions(reader=kernel.dids, signatures=gate.signatures, **common)
    operators = OperatorSessions(api_keys=gate.api_keys, **common)
    dids, ledger, proofs = kernel.need(DidHandlers), kernel.find(LedgerHandlers), kernel.need(VerificationHandlers)
    names = Names(kernel.need(CredentialHandlers), kernel.need(RecordsHandlers))
    public = PublicPages(dids, ledger, proofs, sessions, operators, names)
    requests = kernel.find(RequestHandlers)
    waiting = None if requests is None else requests.consents
    holder = HolderPages(dids, kernel.need(DelegationHandlers), proofs, waiting, sessions, names)

    def render_metrics() -> bytes:
        # Without an extension that provides them there are none.
        found = kernel.find(RenderedMetrics)
        return b"" if found is None else found.render({})

    async with KeepFigures(render_metrics, time.time) as figures:
        chain, state = kernel.need(CheckAuditChain), kernel.need(InstallationState)
        shown = OperatorPages(kernel, state, chain, figures, operators)
        served = (public, holder, shown, VerifierPages(holder, requests))
        people, forms = ui_pages(*served), ui_forms(*served)
        yield Contribution(people=people, forms=forms, services={PeoplePages: pages} | _questions(kernel, holder))


def _questions(kernel: Kernel, holder: HolderPages) -> dict[type[Any], Any]:
    """Return the service that asks holders on the page of consent, by its type; nothing without the page, to which no page links then."""
    if holder.requests is None:
        HIDDEN.update((ASK, CONSENT))
        return {}
    HIDDEN.difference_update((ASK, CONSENT))
    return {HolderQuestions: HolderQuestions(holder.requests, kernel.origin + CONSENT)}


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="ui",
        kernel=">=1,<2",
        open=open_ui,
        requires=("records", "verification"),
        after=("api_keys", "consents", "transparency"),
        vital=True,
    )
