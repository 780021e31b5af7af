"""The extension ``consents``: requests of agents and of verifiers until they are answered, and the replies of holders."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_consents.consents import HolderConsents
from identity_consents.handlers import RequestHandlers
from identity_consents.store import KEPT, TABLE, StoredConsentReplies, StoredRequests
from identity_consents.verifier_requests import VerifierRequests
from identity_consents.waiting import ConsentRequests
from identity_consents.wire import DOCUMENT
from identity_core.database import Database
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.ports.retention import RetentionRule
from identity_core.use_cases.background import ForgetRows

REQUESTS = RetentionRule(
    kind="consents_requests",
    expired="expires_at <= :until ORDER BY expires_at",
    columns="id kind owner agent created_at expires_at",
    roles=("owner", "agent"),
)


@contextlib.asynccontextmanager
async def open_consents(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension. Expired requests and replies are deleted until it is closed."""
    replies, stored = StoredConsentReplies(kernel.need(Database)), StoredRequests(kernel.need(Database))
    consents = HolderConsents(replies, kernel.clock, kernel.secret("replies"), kernel.random)
    verifiers = VerifierRequests(stored, kernel.secret("requests"), kernel)
    handlers = RequestHandlers(ConsentRequests(stored, consents, kernel), verifiers, kernel.origin)
    async with ForgetRows(replies.forget, kernel.clock), ForgetRows(stored.forget, kernel.clock, KEPT):
        yield Contribution(handlers=(handlers,), services={HolderConsents: consents, RequestHandlers: handlers})


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(
        name="consents",
        kernel=">=1,<2",
        document=DOCUMENT,
        open=open_consents,
        vital=True,
        adopts=(TABLE,),
        migrations="identity_consents.migrations",
        retention=(REQUESTS,),
    )
