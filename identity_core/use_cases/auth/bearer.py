"""From a bearer token to a caller: the tokens of the service first, then those of other issuers, which plugins verify."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, InvalidDid
from identity_core.ports.bearer import OwnTokens
from identity_core.ports.clock import Clock
from identity_core.use_cases.dids.index import DidReader
from identity_core.values import value_class


@value_class
class AuthenticateBearer:
    """``own`` returns the tokens of the service. ``plugins`` verifies those of other issuers, None for one that no plugin knows."""

    reader: DidReader
    clock: Clock
    own: Callable[[], OwnTokens]
    plugins: Callable[[str, datetime], Caller | None]

    async def __call__(self, text: str, resource: str = "") -> Caller:
        """Return the caller, alive. Where a ``resource`` is named, only tokens of the service are good.

        Raises ``AuthFailed``. Raises ``PluginUnavailable``: when a plugin that may know the token fails.
        """
        caller = await self.own()(text, resource)
        if caller is None and not resource:
            caller = self.plugins(text, self.clock.now())
            if caller is not None and caller.subject is not None:
                await alive(self.reader, caller.subject)
        if caller is None:
            raise AuthFailed
        return caller


async def alive(reader: DidReader, did: Did) -> None:
    """Raise ``AuthFailed``: when the DID is unknown, malformed or deactivated."""
    try:
        await reader.active(did)
    except (InvalidDid, DidNotFound, DidDeactivated) as error:
        raise AuthFailed from error
