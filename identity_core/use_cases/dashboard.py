"""resetDisclosures: the holder begins the count of questions about a credential anew.

rotateHolderSecret: the holder's next secret, where a custodian keeps it; or the former ones are forgotten.
"""

from __future__ import annotations

from datetime import datetime

from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.activity import Event, EventRecord, Parties, RequestContext
from identity_core.domain.credentials.credential import Credential
from identity_core.domain.dids.did import Did
from identity_core.errors import CredentialNotFound, Forbidden
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_core.ports.custodian import Custodian
from identity_core.ports.holder_secrets import HolderSecretGenerations, SecretRotation
from identity_core.use_cases.credentials.holder_secrets import root_of_new
from identity_core.use_cases.credentials.read import READ, CredentialAccess
from identity_core.use_cases.record import Record
from identity_core.wire import (
    ResetDisclosuresRequest,
    RotateHolderSecretRequest,
)

MOST_TOLD = 1000
"""Credentials that an answer of rotateHolderSecret names."""


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

        def tell(done: SecretRotation) -> EventRecord:
            details: dict[str, JsonValue] = {"generation": done.generation, "credentials": len(done.credentials)}
            return EventRecord(Event(kind, did, Parties(holder=did), details=details), context, now)

        with context.keeping(lambda done: (holder, done)):
            return holder, await change(did, root, now, tell, limit=MOST_TOLD)
