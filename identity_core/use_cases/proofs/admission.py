"""Who asks for a proof, and with which token: steps 5 to 9 of generateDelegatedProof.

Identity before content, and the signature before any look-up that could tell something: whoever holds no token that the
holder signed learns nothing about delegations and credentials.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from identity_core.codec import multikey
from identity_core.domain import history
from identity_core.domain.caller import Caller
from identity_core.domain.capability import Capability, invalid
from identity_core.domain.delegated_proof import ProofRequest
from identity_core.domain.did import Did
from identity_core.domain.history import DidState
from identity_core.errors import DidNotFound, Forbidden
from identity_core.use_cases.dids.reader import DidReader

SCOPE: Final = "zkp:prove"


@dataclass(frozen=True, slots=True)
class CheckCapability:
    """Turns a request into a genuine, unexpired token. ``places`` are the URLs below which this service has its
    delegation records; ``leeway`` is how far ahead a holder's clock may be, ``longest`` how long a token may be good."""

    reader: DidReader
    places: tuple[str, ...]
    leeway: timedelta
    longest: timedelta

    async def __call__(self, request: ProofRequest, caller: Caller, now: datetime) -> Capability:
        """Raises ``Forbidden``, ``IbctInvalid``, ``DidDeactivated``, ``IbctExpired``; in this order."""
        check_caller(caller, request)
        capability = Capability.parse(request.ibct, places=self.places)
        capability.check_parties(str(request.holder), str(request.agent))
        capability.check_times(now, leeway=self.leeway, longest=self.longest)
        holder = await self._active(request.holder, "invoker")
        await self._active(request.agent, "target")
        capability.check_signature(signing_keys(holder, now))
        capability.check_unexpired(now)
        return capability

    async def _active(self, did: Did, member: str) -> DidState:
        try:
            return (await self.reader.active(did)).head.state
        except DidNotFound:
            raise invalid(f"the DID of {member} does not resolve") from None


def check_caller(caller: Caller, request: ProofRequest) -> None:
    """Raises ``Forbidden`` unless the caller is the agent, or an operator who may act for the holder.

    A token that an operator obtained for the agent counts as the agent's, as long as the operator may act for the agent.
    """
    caller.require_scope(SCOPE)
    if caller.api_key is not None:
        caller.api_key.require_target(request.holder)
        return
    if request.agent not in (caller.did, caller.subject):
        raise Forbidden("The caller is not the agent of the request.")
    if caller.operator is not None:
        caller.operator.require_target(request.agent)


def signing_keys(holder: DidState, now: datetime) -> list[bytes]:
    """The raw Ed25519 keys that may sign in the holder's name now; a key in its grace is one of them."""
    decoded = map(multikey.decode_public, history.authentication_keys(holder, now))
    return [raw for kind, raw in decoded if kind == multikey.ED25519]
