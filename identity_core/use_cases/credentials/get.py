"""getCredential: the record, and what it says for those who may see that."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.errors import JsonValue
from identity_core.ports.clock import Clock
from identity_core.use_cases.credentials.access import READ, CredentialAccess
from identity_core.use_cases.credentials.journal import CredentialJournal
from identity_core.use_cases.credentials.sealed_credentials import SealedCredentials, ShownCredential
from identity_core.use_cases.dids.writer import RequestContext


@dataclass(frozen=True, slots=True)
class GetCredential:
    """Raises ``Forbidden``, ``CredentialNotFound``. That an operator looked is written down, whatever was shown."""

    access: CredentialAccess
    sealed_credentials: SealedCredentials
    journal: CredentialJournal
    clock: Clock

    async def __call__(self, credential_id: str, occasion: RequestContext) -> ShownCredential:
        seen = await self.access.find(credential_id, occasion.caller, READ)
        if occasion.caller.key is not None:
            details: dict[str, JsonValue] = {"credentialId": seen.credential.id, "values": seen.with_values}
            await self.journal.line(occasion, str(seen.credential.holder), self.clock.now(), details)
        witness = await self.sealed_credentials.witness(seen.credential) if seen.with_values else None
        return ShownCredential(seen.credential, witness, occasion.caller.person == seen.credential.holder)
