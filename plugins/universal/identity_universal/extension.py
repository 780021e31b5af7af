"""The extension ``universal``: its handlers over what the kernel offers."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

from identity_core.api.dids import DidHandlers
from identity_core.errors import InvalidDid
from identity_core.extension.declaration import Contribution, Extension, Kernel
from identity_core.plugin import hookimpl
from identity_core.settings import StartError
from identity_universal.identifier_handlers import IdentifierHandlers
from identity_universal.identifiers import Identifiers
from identity_universal.refusals import REFUSALS
from identity_universal.registration import DidRegistration
from identity_universal.registration_handlers import RegistrationHandlers
from identity_universal.wire import DOCUMENT


def _identifier_handlers(kernel: Kernel, dids: DidHandlers) -> IdentifierHandlers:
    """Return the handlers of the tag ``identifiers``. Raises ``StartError``: for a setting that is not a DID."""
    try:
        listed = [kernel.dids.parse(text) for text in kernel.settings.server.test_identifiers]
    except InvalidDid as error:
        raise StartError(f"server.test_identifiers: {error}") from error
    return IdentifierHandlers(Identifiers(dids.resolve, kernel.dids.methods, listed), dids.cache, kernel.clock)


@contextlib.asynccontextmanager
async def open_universal(kernel: Kernel) -> AsyncIterator[Contribution]:
    """Open the extension."""
    dids = kernel.need(DidHandlers)
    registration = DidRegistration(dids.create, kernel.dids, kernel.settings.did.method)
    handlers = _identifier_handlers(kernel, dids), RegistrationHandlers(registration, kernel.operations)
    yield Contribution(handlers=handlers, error_shapes=REFUSALS)


@hookimpl
def identity_extend() -> Extension:
    """Return the extension."""
    return Extension(name="universal", kernel=">=1,<2", document=DOCUMENT, open=open_universal, vital=True)
