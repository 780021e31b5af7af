"""Bearer tokens: the tokens of other issuers, which plugins verify, and those of the service itself."""

from __future__ import annotations

from datetime import datetime
from typing import Final, Protocol, runtime_checkable

from identity_core.domain.callers import Caller


@runtime_checkable
class BearerVerifier(Protocol):
    """What a plugin's ``identity_verify_bearer`` is."""

    def __call__(self, token: str, now: datetime) -> Caller | None:
        """The caller; None for "not mine, ask the next"; raises ``AuthFailed`` for "mine, and bad"."""
        ...


class OwnTokens(Protocol):
    """The access tokens that the service issues. An extension provides it as a service.

    ``resource_metadata``: the URL of the metadata of the interface as a resource (RFC 9728); empty if no tokens are issued.
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


class NoOwnTokens:
    """A service that issues no tokens."""

    resource_metadata: Final = ""

    def claims_to_be_ours(self, text: str) -> bool:
        return False

    def has_been_good(self, text: str) -> bool:
        return False

    async def __call__(self, text: str, resource: str) -> Caller | None:
        return None
