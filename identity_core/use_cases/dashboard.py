"""getDashboardTimeline: what happened to the caller's delegations, credentials and proofs.

resetDisclosures: the holder begins the count of questions about a credential anew.

rotateHolderSecret: the holder's next secret, where a custodian keeps it; or the former ones are forgotten.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from identity_core.codec import times
from identity_core.domain.activity import Event, Parties, RequestContext, TimelineQuery
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.dids.did import Did
from identity_core.errors import CredentialNotFound, Forbidden, JsonValue
from identity_core.ports.activity import ActivityRow, Timeline, TimelineRow
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_core.ports.custodian import Custodian
from identity_core.ports.holder_secrets import HolderSecretGenerations, SecretRotation
from identity_core.use_cases.credentials.holder_secrets import root_of_new
from identity_core.use_cases.credentials.read import READ, CredentialAccess
from identity_core.use_cases.record import Record, rows_of
from identity_core.use_cases.verifications import Visibility
from identity_core.values import value_class
from identity_core.wire import (
    GetDashboardTimelineQuery,
    ResetDisclosuresRequest,
    RotateHolderSecretRequest,
)

MOST_TOLD = 1000
"""Credentials that an answer of rotateHolderSecret names."""


@value_class
class GetDashboardTimeline:
    """Newest first. Raises ``Forbidden`` for a key or a token without ``audit:read``."""

    timeline: Timeline

    async def __call__(
        self, query: GetDashboardTimelineQuery, caller: Caller, *, before: str | None = None
    ) -> Sequence[TimelineRow]:
        """One row more than a page has, where there is one; those with ids before ``before``."""
        since, until = times.optional(query.after, "after"), times.optional(query.before, "before")
        dids = Visibility.of(caller).dids
        return await self.timeline.list(TimelineQuery(dids, query.kind, since, until, before, query.limit + 1))


@value_class
class ResetDisclosures:
    """Only for the holder, who has signed for it. Raises ``CredentialNotFound``, also for a credential that the caller has no part in;
    ``Forbidden`` for issuer and agents."""

    access: CredentialAccess
    credentials: Credentials
    record: Record
    clock: Clock

    async def __call__(self, wish: ResetDisclosuresRequest, context: RequestContext) -> tuple[Credential, datetime]:
        """The credential, and the time of the reset."""
        credential = (await self.access.find(wish.credential_id, context.caller, READ)).credential
        now = self.clock.now()
        if context.caller.did != credential.holder:
            raise Forbidden("Only the holder begins the count of questions anew, by a signature.")
        if not await self.credentials.reset_disclosures(credential.id, str(credential.holder), now):
            # Erased a moment ago.
            raise CredentialNotFound
        await self.record(context, credential.event("credential.disclosuresReset"), now)
        return credential, now


@value_class
class RotateHolderSecret:
    """Only for the holder, who has signed for it. Raises ``Forbidden``, and ``PluginUnavailable`` where the keeper is away."""

    secrets: HolderSecretGenerations
    keeper: Custodian
    clock: Clock

    async def __call__(self, wish: RotateHolderSecretRequest, context: RequestContext) -> tuple[Did, SecretRotation]:
        """The holder, and what is bound to former secrets."""
        holder = context.caller.did
        if holder is None:
            raise Forbidden("Only the holder rotates the secret, by a signature.")
        did, now, root = str(holder), self.clock.now(), await root_of_new(self.keeper)
        change = self.secrets.forget if wish.forget_former else self.secrets.rotate
        kind = "holder.secretsForgotten" if wish.forget_former else "holder.secretRotated"

        def tell(done: SecretRotation) -> Sequence[ActivityRow]:
            details: dict[str, JsonValue] = {"generation": done.generation, "credentials": len(done.credentials)}
            return rows_of(context, Event(kind, did, Parties(holder=did), details=details), now)

        with context.keeping(lambda done: (holder, done)):
            return holder, await change(did, root, now, tell, limit=MOST_TOLD)
