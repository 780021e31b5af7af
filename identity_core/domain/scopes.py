"""What an API key may be allowed to do. A scope that nothing asks for is a slip, and a key that has it does not do what was meant."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from identity_core.errors import InvalidRequest

ACTING: Final = frozenset(
    {
        "dids:operate",
        "credentials:read",
        "credentials:write",
        "delegations:read",
        "delegations:write",
        "zkp:prove",
        "zkp:verify",
    }
)
"""Those by which a key acts for DIDs: for those that its ``allowed_targets`` name."""

KNOWN: Final = ACTING | {"dids:create", "dids:list", "audit:read", "service:read"}
"""Every scope that some operation asks for."""


def require_known(scopes: Collection[str]) -> None:
    """Raises ``InvalidRequest`` naming a scope that is none, and those that there are."""
    unknown = sorted(set(scopes) - KNOWN)
    if unknown:
        raise InvalidRequest(
            f"{unknown[0]!r} is no scope of this service.", details={"field": "scopes", "supported": [*sorted(KNOWN)]}
        )


def require_targets(scopes: Collection[str] | None, *, said: bool) -> None:
    """Raises ``InvalidRequest`` for a key that may act for DIDs where nobody ``said`` for which: the default must not be every one."""
    if scopes is not None and not said and not ACTING.isdisjoint(scopes):
        raise InvalidRequest(
            "Say for which DIDs the key may act: allowedTargets with a list, or null for every DID.",
            details={"field": "allowedTargets"},
        )
