"""From a bearer token to a caller: the tokens of the service first, then those of other issuers, which plugins verify."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Protocol

from identity_codec.values import value_class
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, DidDeactivated, DidNotFound, InvalidDid
from identity_core.ports.clock import Clock
from identity_core.use_cases.dids.index import DidReader


class OwnTokens(Protocol):
    """The access tokens that the service issues. An extension provides it as a service.

    ``resource_metadata``: the URL of the metadata of the interface as a resource (RFC 9728).
    """

    resource_metadata: str

    def claims_to_be_ours(self, text: str) -> bool:
        """Return whether the text is a token that names the service as its issuer; nothing is verified."""
        ...

    def has_been_good(self, text: str) -> bool:
        """Return whether this process has found the signature of this token good before; nothing else is checked."""
        ...

    async def __call__(self, text: str, resource: str) -> Caller | None:
        """Return the caller, alive; None for a token of another issuer. Raises ``AuthFailed``.

        ``resource``: the path of the one resource that the token must be for, empty for the interface.
        """
        ...


@value_class
class AuthenticateBearer:
    """``own`` returns the tokens of the service, None if it issues none. ``plugins`` verifies those of other issuers, None for one that
    no plugin knows."""

    reader: DidReader
    clock: Clock
    own: Callable[[], OwnTokens | None]
    plugins: Callable[[str, datetime], Caller | None]

    async def __call__(self, text: str, resource: str = "") -> Caller:
        """Return the caller, alive. Where a ``resource`` is named, only tokens of the service are good.

        Raises ``AuthFailed``. Raises ``PluginUnavailable``: when a plugin that may know the token fails.
        """
        own = self.own()
        caller = None if own is None else await own(text, resource)
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
