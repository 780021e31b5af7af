"""resetDisclosures: the holder resets the count of questions about a credential."""

from __future__ import annotations

from datetime import datetime

from msgspec import Struct

from identity_core.domain.activity import RequestContext
from identity_core.domain.credentials.credential import Credential
from identity_core.errors import CredentialNotFound, Forbidden
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_core.use_cases.credentials.read import READ, CredentialAccess
from identity_core.use_cases.record import Record
from identity_records.wire import ResetDisclosuresRequest


class ResetDisclosures(Struct, frozen=True):
    """Use case resetDisclosures, only for the holder, with a signature. Raises ``CredentialNotFound``: also when the caller is not a
    party of the credential. Raises ``Forbidden``: when the caller is the issuer or an agent."""

    access: CredentialAccess
    credentials: Credentials
    record: Record
    clock: Clock

    async def __call__(self, wish: ResetDisclosuresRequest, context: RequestContext) -> tuple[Credential, datetime]:
        """Return the credential, and the time of the reset."""
        credential = (await self.access.find(wish.credential_id, context.caller, READ)).credential
        now = self.clock.now()
        if context.caller.did != credential.holder:
            raise Forbidden("Only the holder begins the count of questions anew, by a signature.")
        if not await self.credentials.reset_disclosures(credential.id, str(credential.holder), now):
            # Erased a moment ago.
            raise CredentialNotFound
        await self.record(context, credential.event("credential.disclosuresReset"), now)
        return credential, now
