"""Who may know of a credential, who sees its values, and who may act for its issuer.

Holder and issuer see everything. An API key whose allowlist names one of them does so too, because somebody decided that for
this DID; a key that may act for anybody sees no values, so that a leaked admin key does not open every credential. An
agent with a live delegation sees that the credential is there, not what it says. For all others it does not exist.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.domain.autonomy import AutonomyTable
from identity_core.domain.caller import ApiKey, Caller
from identity_core.domain.credential import Credential
from identity_core.domain.delegation import DelegationState
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.domain.did import Did
from identity_core.errors import AutonomyTooLow, CredentialNotFound, ScopeMismatch
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_core.ports.delegations import DelegationFilter, Delegations

READ: Final = "credentials:read"
WRITE: Final = "credentials:write"
_CHAINS_LOOKED_AT: Final = 200


@dataclass(frozen=True, slots=True)
class Seen:
    """A credential that the caller may know of. ``with_values``: also what it says."""

    credential: Credential
    with_values: bool


@dataclass(frozen=True, slots=True)
class CredentialAccess:
    """Finds a credential for a caller."""

    credentials: Credentials
    delegations: Delegations
    autonomy: AutonomyTable
    clock: Clock

    async def find(self, credential_id: str, caller: Caller, scope: str) -> Seen:
        """Raises ``Forbidden`` without the scope; ``CredentialNotFound`` for an unknown id and for a credential in which the caller
        has no part."""
        caller.require_scope(scope)
        credential = await self.credentials.get(credential_id)
        if credential is None:
            raise CredentialNotFound
        parties = {credential.holder, credential.issuer}
        if caller.person in parties:
            return Seen(credential, True)
        if caller.key is not None:
            return self._by_key(
                credential, caller.key, parties if caller.subject is None else parties & {caller.subject}
            )
        if caller.person is not None and await self._is_agent(credential, caller.person):
            return Seen(credential, False)
        raise CredentialNotFound

    @staticmethod
    def _by_key(credential: Credential, key: ApiKey, acts_for: set[Did]) -> Seen:
        if not acts_for:
            raise CredentialNotFound
        if key.allowed_targets is None:
            return Seen(credential, False)
        if key.allowed_targets.isdisjoint(map(str, acts_for)):
            raise CredentialNotFound
        return Seen(credential, True)

    async def _is_agent(self, credential: Credential, agent: Did) -> bool:
        wanted = DelegationFilter(holder=str(credential.holder), agent=str(agent))
        chains = await self.delegations.list(wanted, after=None, limit=_CHAINS_LOOKED_AT)
        return any(self._shows(chain, credential, agent) for chain in chains)

    def _shows(self, chain: DelegationChain, credential: Credential, agent: Did) -> bool:
        """Whether the delegation is live, is about this credential and of a level that lets the agent know of it."""
        if chain.leaf.agent != agent or chain.state(self.clock.now()) is not DelegationState.ACTIVE:
            return False
        try:
            chain.check_schema(credential.schema.id)
            self.autonomy.check_metadata(chain.effective_autonomy)
        except (ScopeMismatch, AutonomyTooLow):
            return False
        listed = (record.credential_ids for record in chain.records)
        return all(ids is None or credential.id in ids for ids in listed)
