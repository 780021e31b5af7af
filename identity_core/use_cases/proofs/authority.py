"""What the holder allowed: steps 11 to 13 of generateDelegatedProof.

An identical repetition of a request that was proven passes the first of them anew, and nothing else is asked of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.action import Action
from identity_core.domain.autonomy import AutonomyTable
from identity_core.domain.capability import Capability
from identity_core.domain.credential import Credential
from identity_core.domain.delegated_proof import ProofRequest
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.errors import DelegationInvalid, IbctRevoked, JsonValue, ScopeMismatch
from identity_core.ports.delegations import Delegations


@dataclass(frozen=True, slots=True)
class Scope:
    """What is to be proven. ``value`` is the request's or the pin's; ``is_pinned`` tells whether the holder fixed it."""

    value: JsonValue
    is_pinned: bool


@dataclass(frozen=True, slots=True)
class FindDelegation:
    """Finds the delegation of a token. Raises ``IbctRevoked``; ``DelegationInvalid``, the same for every reason; then
    ``DelegationRevoked``, ``DelegationExpired``, ``DelegationNotActive``."""

    delegations: Delegations

    async def __call__(self, request: ProofRequest, capability: Capability, now: datetime) -> DelegationChain:
        if await self.delegations.ibct_revoked(request.holder, capability.id, capability.nonce):
            raise IbctRevoked
        delegation_id = capability.delegation_id
        chain = None if delegation_id is None else await self.delegations.chain(delegation_id)
        if chain is None:
            raise DelegationInvalid
        chain.check_sound(request.holder, request.agent)
        chain.check_state(now)
        return chain


def check_scope(
    request: ProofRequest, capability: Capability, chain: DelegationChain, credential: Credential | None
) -> Scope:
    """The action is this predicate, every grant covers it, credential and verifier are allowed. Raises ``ScopeMismatch``, and
    ``InvalidRequest`` where the value is left out and no pin supplies it.

    ``credential`` is None where there is none; that is for a later step to say.
    """
    asked = request.asked
    try:
        action = Action.parse(capability.action)
    except ValueError as error:
        raise ScopeMismatch(details={"reason": str(error)}) from error
    value = asked.value if asked.has_value else chain.only_value(action)
    action.check_names(asked.attribute, asked.type, value)
    chain.check_covers(action, value, request.credential_id)
    if credential is not None:
        chain.check_schema(credential.schema.id)
    chain.check_verifier(request.domain)
    return Scope(value, chain.is_pinned(action))


def check_autonomy(table: AutonomyTable, chain: DelegationChain, scope: Scope, *, anchor: bool) -> None:
    """Raises ``AutonomyTooLow``."""
    table.check_proof(chain.effective_autonomy, pinned=scope.is_pinned, anchor=anchor)
