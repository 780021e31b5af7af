"""The extension ``api_keys``: its operations over the key store of the kernel."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_api_keys.handlers import ApiKeyHandlers
from identity_api_keys.manage import ApiKeyAdministration
from identity_api_keys.wire import DOCUMENT
from identity_core.api.security import Gate
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.use_cases.auth.tagged import KeyStoreWatch
from identity_core.use_cases.record import Record


@contextlib.asynccontextmanager
async def open_api_keys(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension."""
    keys, known = kernel.need(KeyStoreWatch).keys, kernel.need(Gate).api_keys
    administration = ApiKeyAdministration.over(keys, known.known, kernel.need(Record), known.fingerprint)
    handlers = ApiKeyHandlers(administration, known.fingerprint)
    yield Contribution(handlers=(handlers,), services={ApiKeyHandlers: handlers})


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(name="api_keys", kernel=">=1,<2", document=DOCUMENT, open=open_api_keys, vital=True)
