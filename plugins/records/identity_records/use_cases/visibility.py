"""The rows that a caller may see, in the history and in the timeline alike."""

from __future__ import annotations

from identity_codec.values import value_class
from identity_core.domain.callers import Caller

SCOPE = "audit:read"


@value_class
class Visibility:
    """``dids`` None is everybody's; ``caller`` is the identity whose own acts are seen as well."""

    caller: str
    dids: frozenset[str] | None

    @classmethod
    def of(cls, caller: Caller) -> Visibility:
        """A DID sees what concerns itself, an API key with ``audit:read`` what concerns the DIDs of its allowlist. Raises ``Forbidden``
        for a key or a token without that scope."""
        caller.require_scope(SCOPE)
        if caller.api_key is not None:
            return cls(caller.identity, caller.api_key.allowed_targets)
        return cls(caller.identity, frozenset({str(caller.did or caller.subject)}))

    def shows(self, did: str | None) -> bool:
        """Return whether a DID may be named to the caller."""
        return did is not None and (self.dids is None or did in self.dids)
