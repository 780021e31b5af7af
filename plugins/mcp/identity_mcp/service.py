"""The identity service as tools ask it: over HTTP by an agent that holds its key, or in process for an agent that brings a token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

NOTHING: Final[Mapping[str, Any]] = {}


class Refused(Exception):
    """An error of the service: a stable ``code``, a ``message`` for people, ``details`` in JSON that name the wrong part."""

    def __init__(self, code: str, message: str, details: Mapping[str, Any] = NOTHING) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.details = details


class Service(Protocol):
    """Operations of the document, asked for one agent."""

    @property
    def did(self) -> str:
        """The agent's DID."""
        ...

    async def ask(
        self, operation: str, body: Any = None, *, path: Mapping[str, str] = NOTHING, query: Mapping[str, Any] = NOTHING
    ) -> Any:
        """Return the JSON of what ``operation`` (an operationId) answers; None in ``query`` is left out. Raises ``Refused`` or
        ``IdentityError``."""
        ...

    async def consent(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the holder's answer to the arguments of ``request_proof`` or ``request_presentation`` without an IBCT: ``status``
        ``approved`` with ``ibct`` and ``credentialId``; ``declined``; ``proved``, as ``request_proof`` answers; ``consent_required`` or
        ``waiting`` with ``consentId``, ``consentUrl`` and ``expiresAt``. Raises as ``ask``."""
        ...
