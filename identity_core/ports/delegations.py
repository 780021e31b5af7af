"""Where delegations and revocations of IBCTs are kept. Every write is durable on return.

Uses, refusals and thresholds are counted by who consumes them, in the transaction that consumes (``ports/proofs.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Protocol

from identity_codec.values import value_class
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import Delegation
from identity_core.domain.dids.did import Did
from identity_core.ports.repositories import RowPosition


@value_class
class DelegationFilter:
    """Which delegations a list shows. ``party`` is a DID that must be holder or agent, ``holders`` are DIDs of which the holder
    must be one; None asks for nothing."""

    party: str | None = None
    holders: frozenset[str] | None = None
    holder: str | None = None
    agent: str | None = None


IbctMember = Literal["id", "nonce"]
"""The member by which an IBCT is called back."""


class Delegations(Protocol):
    """Delegations by id, and IBCTs that were called back."""

    async def chain(self, delegation_id: str) -> DelegationChain | None:
        """The delegation and those that it descends from, as they are stored and not yet checked; None for an unknown id. Of a
        chain that is too long or goes in a circle it gives one record more than a chain may have."""
        ...

    async def add(self, delegation: Delegation) -> None:
        """Stores a new one."""
        ...

    async def list(
        self, wanted: DelegationFilter, *, after: RowPosition | None, limit: int
    ) -> Sequence[DelegationChain]:
        """Newest first, those after ``after``."""
        ...

    async def revoke(self, delegation_id: str, by: str, reason: str | None, now: datetime) -> DelegationChain | None:
        """Revokes it for good, and returns its chain as it is then. None when it was revoked before or is unknown, and nothing changed."""
        ...

    async def suspend(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        """Suspends it by hand, and returns its chain as it is then. None when it is suspended, revoked or expired, and nothing changed."""
        ...

    async def resume(self, delegation_id: str, now: datetime) -> DelegationChain | None:
        """Ends a suspension; one by a limit also gives that limit's questions back. Returns its chain as it is then. None when it is not
        suspended, or revoked or expired, and nothing changed."""
        ...

    async def revoke_ibct(
        self, invoker: Did, member: IbctMember, value: str, *, keep_until: datetime, now: datetime
    ) -> datetime:
        """Remembers it until ``keep_until`` at the least, and returns when it was first revoked. Forgets some that no one can
        use any more."""
        ...
