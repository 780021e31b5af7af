"""Who may know a delegation, and who may act in whose name.

Parties of a delegation are its holder and the agents of its chain up to the root; an operator is whoever has an API key whose
allowlist names the holder. For everybody else it does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from identity_core.domain.caller import ApiKey, Caller
from identity_core.domain.delegation import Delegation, DelegationState
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.domain.did import Did
from identity_core.errors import AuthRequired, DelegationNotFound, Forbidden
from identity_core.ports.delegations import Delegations

READ: Final = "delegations:read"
WRITE: Final = "delegations:write"


@dataclass(frozen=True, slots=True)
class ShownDelegation:
    """A delegation as a party sees it: ``status`` and ``effective_autonomy`` are those of its whole chain."""

    delegation: Delegation
    status: DelegationState
    effective_autonomy: int

    @classmethod
    def of(cls, chain: DelegationChain, now: datetime) -> ShownDelegation:
        """As it is at ``now``."""
        return cls(chain.leaf, chain.state(now), chain.effective_autonomy)


@dataclass(frozen=True, slots=True)
class DelegationAccess:
    """Finds a delegation for a caller."""

    delegations: Delegations

    async def find(self, delegation_id: str, caller: Caller, scope: str) -> DelegationChain:
        """Raises ``Forbidden`` without the scope; ``DelegationNotFound`` for an unknown id and for a delegation in which the
        caller has no part, by one look-up and one answer."""
        caller.require_scope(scope)
        chain = await self.delegations.chain(delegation_id)
        if chain is None or not _has_part(caller, chain):
            raise DelegationNotFound
        return chain

    async def find_own(self, delegation_id: str, caller: Caller) -> DelegationChain:
        """The same for what only the holder or an operator may do. Raises ``Forbidden`` for an agent of the chain."""
        chain = await self.find(delegation_id, caller, WRITE)
        if caller.api_key is None and acting_did(caller) != chain.leaf.holder:
            raise Forbidden("Only the holder may do this.")
        return chain


def acting_did(caller: Caller) -> Did:
    """The DID that signed or that the token is about. Raises ``AuthRequired`` for an API key, which is no DID."""
    did = caller.did or caller.subject
    if did is None:
        raise AuthRequired
    return did


def operator_of(caller: Caller) -> ApiKey | None:
    """The API key behind the request, if there is one: the caller itself, or who asked for the token."""
    return caller.api_key or caller.operator


def author(caller: Caller) -> str:
    """What ``created_by`` and ``revoked_by`` say: a DID, or ``apiKey:`` and the fingerprint of who acted for one."""
    key = operator_of(caller)
    return f"apiKey:{key.fingerprint}" if key is not None else str(acting_did(caller))


def _has_part(caller: Caller, chain: DelegationChain) -> bool:
    if caller.api_key is not None:
        targets = caller.api_key.allowed_targets
        return targets is None or str(chain.leaf.holder) in targets
    did = acting_did(caller)
    return did == chain.leaf.holder or any(did == record.agent for record in chain.records)
