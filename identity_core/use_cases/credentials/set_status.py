"""setCredentialStatus: revoke for good, suspend, resume. Only the issuer, or an operator for the issuer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.domain.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.errors import Overloaded
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_core.use_cases.credentials.access import WRITE, CredentialAccess
from identity_core.use_cases.credentials.journal import CredentialJournal
from identity_core.use_cases.dids.writer import RequestContext

_TRIES: Final = 16
_KINDS: Final = {
    CredentialStatus.REVOKED: "credential.revoked",
    CredentialStatus.SUSPENDED: "credential.suspended",
    CredentialStatus.ACTIVE: "credential.resumed",
}


@dataclass(frozen=True, slots=True)
class SetCredentialStatus:
    """What is so already stays so, and is no error. Raises ``CredentialNotFound``, ``Forbidden`` for a party that is not the
    issuer, ``Conflict`` for what revocation forbids."""

    access: CredentialAccess
    credentials: Credentials
    journal: CredentialJournal
    clock: Clock

    async def __call__(
        self, credential_id: str, purpose: StatusPurpose, value: bool, reason: str | None, occasion: RequestContext
    ) -> Credential:
        for _ in range(_TRIES):
            credential = (await self.access.find(credential_id, occasion.caller, WRITE)).credential
            occasion.caller.require_acting_for(credential.issuer, WRITE)
            status = credential.status_after(purpose, value)
            if status is credential.status:
                return credential
            now = self.clock.now()
            changed = await self.credentials.set_status(credential, status, reason, now)
            if changed is not None:
                await self.journal.event(_KINDS[status], changed, occasion, now)
                return changed
        raise Overloaded("Too many others change the status of this credential.", details={"retryAfter": 1})
