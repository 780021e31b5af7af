"""listCredentials: a DID's own, or those of a DID for which an operator may act. Metadata only: values are read one at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from identity_core.domain.caller import Caller
from identity_core.domain.credential import Credential
from identity_core.errors import Forbidden, InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CredentialFilter, CredentialPosition, Credentials
from identity_core.use_cases.credentials.access import READ
from identity_core.use_cases.credentials.journal import CredentialJournal
from identity_core.use_cases.dids.writer import RequestContext


@dataclass(frozen=True, slots=True)
class ListCredentials:
    """Raises ``Forbidden``; ``InvalidRequest`` for an operator who does not say whose credentials are meant."""

    credentials: Credentials
    journal: CredentialJournal
    clock: Clock

    async def __call__(
        self, wanted: CredentialFilter, occasion: RequestContext, *, after: CredentialPosition | None, limit: int
    ) -> Sequence[Credential]:
        caller = occasion.caller
        caller.require_scope(READ)
        if caller.api_key is None:
            wanted = replace(wanted, party=str(caller.did or caller.subject))
        if caller.key is not None:
            target = _target(wanted, caller)
            await self.journal.line(occasion, target, self.clock.now(), {})
        return await self.credentials.list(wanted, after=after, limit=limit)


def _target(wanted: CredentialFilter, caller: Caller) -> str:
    """The DID for which the operator acts."""
    if caller.api_key is None:
        return str(caller.subject)
    named = [did for did in (wanted.holder, wanted.issuer) if did is not None]
    if not named:
        raise InvalidRequest("An API key says whose credentials it means: holderDid or issuerDid.")
    allowed = caller.api_key.allowed_targets
    for did in named:
        if allowed is None or did in allowed:
            return did
    raise Forbidden("The API key may not act for this DID.", details={"did": named[0]})
