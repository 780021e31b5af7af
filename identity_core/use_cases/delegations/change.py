"""suspendDelegation: a suspension that the holder can end.

resumeDelegation: the end of a manual suspension, or of one by the limit of refusals.

revokeDelegation: a final revocation, which applies at once to all descendants.

deleteDelegation: a revocation by the HTTP method DELETE.

revokeIbct: the revocation of a signed token before it is used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_codec.structs import UNSET, value_or
from identity_core.domain.activity import DelegationChanged, Parties, RequestContext
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import FINAL
from identity_core.domain.inputs import optional_time
from identity_core.errors import Conflict, Forbidden, InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Delegations, IbctMember
from identity_core.use_cases.background import CLOCK_SET_BACK
from identity_core.use_cases.delegations.read import SUSPEND, WRITE, DelegationAccess, ShownDelegation
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_core.wire import RevokeDelegationRequest, RevokeIbctRequest

SUSPENDED = "delegation.suspended"
RESUMED = "delegation.resumed"


class _ChangeForNow(Struct, frozen=True):
    """A reversible change by the holder or an operator."""

    access: DelegationAccess
    record: Record
    clock: Clock

    async def _do(
        self,
        change: Callable[[str, datetime], Awaitable[DelegationChain | None]],
        kind: str,
        delegation_id: str,
        context: RequestContext,
    ) -> ShownDelegation:
        now, scopes = self.clock.now(), context.caller.scopes or ()
        scope = SUSPEND if kind == SUSPENDED and SUSPEND in scopes else WRITE
        shown = ShownDelegation.from_chain(await self.access.find_own(delegation_id, context.caller, scope), now)
        if shown.status in FINAL:
            raise Conflict(f"The delegation is {shown.status.value}, for good.", details={"status": shown.status.value})
        with context.keeping(lambda chain: chain and ShownDelegation.from_chain(chain, now)):
            chain = await change(delegation_id, now)
        if chain is None:
            return ShownDelegation.from_chain(await self.access.find_own(delegation_id, context.caller, scope), now)
        await self.record(context, chain.leaf.event(kind), now)
        return ShownDelegation.from_chain(chain, now)


class SuspendDelegation(_ChangeForNow, frozen=True):
    """Use case suspendDelegation, for the holder and operators. A repetition changes nothing. Raises ``DelegationNotFound``,
    ``Forbidden``. Raises ``Conflict``: when the delegation is revoked, expired or exhausted."""

    async def __call__(self, delegation_id: str, context: RequestContext) -> ShownDelegation:
        return await self._do(self.access.delegations.suspend, SUSPENDED, delegation_id, context)


class ResumeDelegation(_ChangeForNow, frozen=True):
    """Use case resumeDelegation, for the holder and operators. After a suspension by the limit, refusals and thresholds are reset: the
    holder allows the same number of questions again. A delegation that is not suspended does not change. Raises ``DelegationNotFound``,
    ``Forbidden``, ``Conflict``."""

    async def __call__(self, delegation_id: str, context: RequestContext) -> ShownDelegation:
        return await self._do(self.access.delegations.resume, RESUMED, delegation_id, context)


DELEGATION_REVOKED = "delegation.revoked"


class RevokeDelegation(Struct, frozen=True):
    """Use case revokeDelegation, for every party: the holder, the grantors of it and of its ancestors, an operator, and the agent itself.
    A repetition changes nothing. Raises ``DelegationNotFound``, ``Forbidden``."""

    access: DelegationAccess
    record: Record
    clock: Clock

    async def __call__(
        self, delegation_id: str, wish: RevokeDelegationRequest, context: RequestContext
    ) -> ShownDelegation:
        caller, now, reason = context.caller, self.clock.now(), value_or(wish.reason, None)
        await self.access.find(delegation_id, caller, WRITE)
        with context.keeping(lambda chain: chain and ShownDelegation.from_chain(chain, now)):
            chain = await self.access.delegations.revoke(delegation_id, caller.author, reason, now)
        if chain is None:
            return ShownDelegation.from_chain(await self.access.find(delegation_id, caller, WRITE), now)
        await self.record(context, chain.leaf.event(DELEGATION_REVOKED), now)
        return ShownDelegation.from_chain(chain, now)


class DeleteDelegation(Struct, frozen=True):
    """Use case deleteDelegation: a revocation without a reason, for generic HTTP clients."""

    revoke: RevokeDelegation

    async def __call__(self, delegation_id: str, context: RequestContext) -> ShownDelegation:
        return await self.revoke(delegation_id, RevokeDelegationRequest(), context)


IBCT_REVOKED: Final = "ibct.revoked"


class IbctRevocation(Struct, frozen=True):
    """The time of the first revocation of an IBCT, and the time until which it is stored at least."""

    revoked_at: datetime
    keep_until: datetime


class RevokeIbct(Struct, frozen=True):
    """Use case revokeIbct, for the invoker and its operators; the service need not know the token. The revocation is stored until the
    token has expired on every clock, or for the maximum lifetime of a token. Raises ``InvalidRequest``: when the request has not exactly
    one of ``id`` and ``nonce``. Raises ``Forbidden``."""

    reader: DidReader
    delegations: Delegations
    record: Record
    clock: Clock
    longest_life: timedelta
    leeway: timedelta

    async def __call__(self, wish: RevokeIbctRequest, context: RequestContext) -> IbctRevocation:
        caller, now = context.caller, self.clock.now()
        member, value = _named(wish)
        invoker = self.reader.parse(wish.invoker)
        end = optional_time(wish.expires_at, "expiresAt") or now + self.longest_life
        caller.require_scope(WRITE)
        if caller.api_key is not None:
            caller.api_key.require_target(invoker)
        elif caller.acting != invoker:
            raise Forbidden("Only the invoker may revoke an IBCT.")
        keep_until = end + self.leeway + CLOCK_SET_BACK
        with context.keeping(lambda revoked_at: IbctRevocation(revoked_at, keep_until)):
            revoked_at = await self.delegations.revoke_ibct(invoker, member, value, keep_until=keep_until, now=now)
        if revoked_at == now:
            # The event has neither id nor nonce, because the token may not have arrived yet.
            await self.record(context, DelegationChanged(IBCT_REVOKED, wish.invoker, Parties(holder=wish.invoker)), now)
        return IbctRevocation(revoked_at, keep_until)


def _named(wish: RevokeIbctRequest) -> tuple[IbctMember, str]:
    if isinstance(wish.id, str) and wish.nonce is UNSET:
        return "id", wish.id
    if isinstance(wish.nonce, str) and wish.id is UNSET:
        return "nonce", wish.nonce
    raise InvalidRequest("Name the IBCT by its id or by its nonce, one of the two.")
