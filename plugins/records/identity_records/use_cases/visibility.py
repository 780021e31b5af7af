"""The rows that a caller may see, in the history and in the timeline alike."""

from __future__ import annotations

from msgspec import Struct

from identity_core.domain.callers import Caller

SCOPE = "audit:read"


class Visibility(Struct, frozen=True):
    """The rows that a caller may see: those of ``dids`` (None: all), and the own actions of the identity ``caller``."""

    caller: str
    dids: frozenset[str] | None

    @classmethod
    def from_caller(cls, caller: Caller) -> Visibility:
        """Return the rows for a caller: for a DID its own, for an API key with ``audit:read`` those of its allowlist. Raises
        ``Forbidden``: for a key or token without that scope."""
        caller.require_scope(SCOPE)
        if caller.api_key is not None:
            return cls(caller.identity, caller.api_key.allowed_targets)
        return cls(caller.identity, frozenset({str(caller.did or caller.subject)}))

    def shows(self, did: str | None) -> bool:
        """Return whether a DID may be named to the caller."""
        return did is not None and (self.dids is None or did in self.dids)
