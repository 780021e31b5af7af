from __future__ import annotations

import pytest

from identity_core.domain import callers as scopes
from identity_core.errors import InvalidRequest

ACTING = {
    "dids:operate", "credentials:read", "credentials:write", "delegations:read", "delegations:write",
    "zkp:prove", "zkp:verify", "records:erase",
}  # fmt: skip
KNOWN = ACTING | {"dids:create", "dids:list", "audit:read", "service:read"}


def test_the_scopes_there_are() -> None:
    assert scopes.ACTING == ACTING
    assert scopes.KNOWN == KNOWN
    scopes.require_known(KNOWN)
    scopes.require_known(())
    with pytest.raises(InvalidRequest, match="'a' is not a scope") as refused:
        scopes.require_known(["dids:create", "b", "a"])
    assert refused.value.details == {"field": "scopes", "supported": sorted(KNOWN)}
