"""The extension ``consents``: the service ``HolderConsents``, and the table of the replies."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_consents.consents import HolderConsents
from identity_consents.store import TABLE, StoredConsentReplies
from identity_core.database import Database
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.use_cases.background import ForgetRows


@contextlib.asynccontextmanager
async def open_consents(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension. Expired replies are deleted until it is closed."""
    replies = StoredConsentReplies(kernel.need(Database))
    consents = HolderConsents(replies, kernel.clock, kernel.secret("replies"), kernel.random)
    async with ForgetRows(replies.forget, kernel.clock):
        yield Contribution(services={HolderConsents: consents})


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(name="consents", kernel=">=1,<2", open=open_consents, vital=True, adopts=(TABLE,))
