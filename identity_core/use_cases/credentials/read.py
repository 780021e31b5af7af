"""Read access to credentials and their values, and the right to act for an issuer.

Holder and issuer see everything. An API key whose allowlist names one of them does too, because an administrator named that DID.
A key that may act for every DID sees no values, so that a leaked admin key does not open every credential. An agent with a live
delegation sees that the credential exists, but not its values. For all others it does not exist.

getCredential: the record, and the values for callers that may see them.

listCredentials: a DID's own, or those of a DID for which an operator may act. Metadata only: values are read one at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.callers import ApiKey, Caller
from identity_core.domain.credentials.credential import Credential, CredentialStatus
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import AutonomyTable, DelegationState
from identity_core.domain.dids.did import Did
from identity_core.errors import AutonomyTooLow, CredentialNotFound, Forbidden, InvalidRequest, ScopeMismatch
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CredentialFilter, Credentials, DelegationFilter, Delegations
from identity_core.ports.repositories import RowPosition
from identity_core.ports.retention import ERASED_HOLDER
from identity_core.use_cases.credentials.sealed import SealedCredentials, ShownCredential
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_core.wire import ListCredentialsQuery

READ: Final = "credentials:read"
WRITE: Final = "credentials:write"


class Seen(Struct, frozen=True):
    """A credential that the caller may read. ``with_values``: also its values."""

    credential: Credential
    with_values: bool


class CredentialAccess(Struct, frozen=True):
    """Lookup of a credential for a caller."""

    credentials: Credentials
    delegations: Delegations
    autonomy: AutonomyTable
    clock: Clock

    async def find(self, credential_id: str, caller: Caller, scope: str) -> Seen:
        """Return the credential. Raises ``Forbidden``: when the caller does not have the scope. Raises ``CredentialNotFound``: when the
        id is unknown or the caller is not a party."""
        caller.require_scope(scope)
        credential = await self.credentials.get(credential_id)
        if credential is None:
            raise CredentialNotFound
        parties = {credential.holder, credential.issuer}
        if caller.person in parties:
            return Seen(credential, True)
        if caller.key is not None:
            acts_for = parties if caller.subject is None else parties & {caller.subject}
            return self._by_key(credential, caller.key, acts_for)
        if caller.person is not None and await self._is_agent(credential, caller.person):
            return Seen(credential, False)
        raise CredentialNotFound

    @staticmethod
    def _by_key(credential: Credential, key: ApiKey, acts_for: set[Did]) -> Seen:
        targets = key.allowed_targets
        if not acts_for or (targets is not None and targets.isdisjoint(map(str, acts_for))):
            raise CredentialNotFound
        return Seen(credential, targets is not None)

    async def _is_agent(self, credential: Credential, agent: Did) -> bool:
        # Page after page: other agents may pass on any number of delegations to this one.
        wanted, after = DelegationFilter(holder=str(credential.holder), agent=str(agent)), None
        while chains := await self.delegations.list(wanted, after=after, limit=200):
            if any(self._shows(chain, credential, agent) for chain in chains):
                return True
            after = RowPosition(chains[-1].leaf.created_at, chains[-1].leaf.id)
        return False

    def _shows(self, chain: DelegationChain, credential: Credential, agent: Did) -> bool:
        """Return whether the delegation is active, covers this credential, and has a level that lets the agent read its metadata."""
        if chain.leaf.agent != agent or chain.state(self.clock.now()) is not DelegationState.ACTIVE:
            return False
        try:
            chain.check_schema(credential.schema.id)
            self.autonomy.check_metadata(chain.effective_autonomy)
        except (ScopeMismatch, AutonomyTooLow):
            return False
        return all(one.credential_ids is None or credential.id in one.credential_ids for one in chain.records)


class GetCredential(Struct, frozen=True):
    """Use case getCredential. Raises ``Forbidden``, ``CredentialNotFound``. Every read by an operator is audited."""

    access: CredentialAccess
    sealed_credentials: SealedCredentials
    record: Record
    clock: Clock

    async def __call__(self, credential_id: str, context: RequestContext) -> ShownCredential:
        seen = await self.access.find(credential_id, context.caller, READ)
        if context.caller.key is not None:
            details: dict[str, JsonValue] = {"credentialId": seen.credential.id, "values": seen.with_values}
            await self.record(context, Event(target=str(seen.credential.holder), details=details), self.clock.now())
        has_values = seen.with_values and str(seen.credential.holder) != ERASED_HOLDER
        witness = await self.sealed_credentials.witness(seen.credential) if has_values else None
        is_holder = context.caller.client is None and context.caller.person == seen.credential.holder
        return ShownCredential(seen.credential, witness, is_holder)


class ListCredentials(Struct, frozen=True):
    """Use case listCredentials. Raises ``Forbidden``. Raises ``InvalidRequest``: when an operator names neither holder nor issuer."""

    reader: DidReader
    credentials: Credentials
    record: Record
    clock: Clock

    async def __call__(
        self, query: ListCredentialsQuery, context: RequestContext, *, after: RowPosition | None
    ) -> Sequence[Credential]:
        """Return the rows of a page, and one more if there is one."""
        holder, issuer = query.holder_did, query.issuer_did
        for text in (holder, issuer):
            if text is not None:
                self.reader.parse(text)
        status = None if query.status is None else CredentialStatus(query.status)
        wanted, caller = CredentialFilter(None, holder, issuer, status), context.caller
        caller.require_scope(READ)
        if caller.api_key is None:
            wanted = replace(wanted, party=str(caller.did or caller.subject))
        if caller.key is not None:
            await self.record(context, Event(target=_target(wanted, caller)), self.clock.now())
        return await self.credentials.list(wanted, after=after, limit=query.limit + 1)


def _target(wanted: CredentialFilter, caller: Caller) -> str:
    """Return the DID for which the operator acts."""
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
