"""revokeIbct: the holder calls a signed token back before anybody has used it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from identity_core.domain.did import Did
from identity_core.errors import Forbidden
from identity_core.ports.clock import Clock
from identity_core.ports.delegations import Delegations, IbctMember
from identity_core.use_cases.delegations.access import WRITE, acting_did
from identity_core.use_cases.delegations.journal import Journal
from identity_core.use_cases.dids.writer import RequestContext

REVOKED: Final = "ibct.revoked"
MARGIN: Final = timedelta(seconds=120)


@dataclass(frozen=True, slots=True)
class IbctToRevoke:
    """Which token: the invoker's, with this ``id`` or this ``nonce``. ``expires_at`` is the token's own, None if unknown."""

    invoker: Did
    member: IbctMember
    value: str
    expires_at: datetime | None


@dataclass(frozen=True, slots=True)
class RevokedIbct:
    """When it was first revoked, and until when that is remembered at the least."""

    revoked_at: datetime
    keep_until: datetime


@dataclass(frozen=True, slots=True)
class RevokeIbct:
    """For the invoker and its operators; the token need not have been seen. It is remembered until the token has expired on every
    clock, or for the longest life that a token may have. Raises ``Forbidden``."""

    delegations: Delegations
    journal: Journal
    clock: Clock
    longest_life: timedelta
    leeway: timedelta

    async def __call__(self, wish: IbctToRevoke, occasion: RequestContext) -> RevokedIbct:
        caller, now = occasion.caller, self.clock.now()
        caller.require_scope(WRITE)
        if caller.api_key is not None:
            caller.api_key.require_target(wish.invoker)
        elif acting_did(caller) != wish.invoker:
            raise Forbidden("Only the invoker may revoke an IBCT.")
        end = wish.expires_at if wish.expires_at is not None else now + self.longest_life
        keep_until = end + self.leeway + MARGIN
        revoked_at = await self.delegations.revoke_ibct(
            wish.invoker, wish.member, wish.value, keep_until=keep_until, now=now
        )
        if revoked_at == now:
            await self.journal.ibct(REVOKED, wish.invoker, occasion, now)
        return RevokedIbct(revoked_at, keep_until)
