"""Making the proof itself: its context, the prover's work, and the row that will be kept."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from identity_core.domain.anchor import Anchor, AnchorStatus
from identity_core.domain.caller import Caller
from identity_core.domain.capability import Capability
from identity_core.domain.delegated_proof import ProofRequest
from identity_core.domain.proof import Context, capability_digest
from identity_core.errors import PluginUnavailable, PredicateNotSatisfied
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import StoredProof
from identity_core.ports.prover import ProofWorkers
from identity_core.use_cases.credentials.sealed_credentials import SealedCredentials
from identity_core.use_cases.proofs.question import PreparedProof

MARGIN: Final = timedelta(seconds=120)
SALT_OCTETS: Final = 32


@dataclass(frozen=True, slots=True)
class ProofPolicy:
    """The installation's choices. ``audience`` is whom a proof is for when the request names no ``domain``; ``lifetime`` how long a
    proof is good; ``shows_agent`` whether proofs name the agent, which links all of its proofs. At most ``disclosures``
    different questions about one attribute of a credential, ever or within ``disclosure_window``; ``leeway`` is that of clocks."""

    audience: str
    lifetime: timedelta
    shows_agent: bool
    disclosures: int
    disclosure_window: timedelta | None
    leeway: timedelta

    @property
    def retention(self) -> timedelta:
        """How long an invocation is remembered past the expiry of its token: longer than any clock here may be behind."""
        return self.leeway + MARGIN


@dataclass(frozen=True, slots=True)
class MakeProof:
    """``random`` gives octets of the operating system's random source."""

    provers: ProofWorkers
    sealed_credentials: SealedCredentials
    clock: Clock
    random: Callable[[int], bytes]
    policy: ProofPolicy

    async def __call__(
        self,
        request: ProofRequest,
        capability: Capability,
        posed: PreparedProof,
        delegation_id: str,
        caller: Caller,
    ) -> StoredProof:
        """Raises ``PluginUnavailable``, ``PluginTimeout``, ``Overloaded``, ``InternalError``."""
        now = self.clock.now()
        context = self._context(request, capability, now)
        try:
            witness = await self.sealed_credentials.witness(posed.credential)
            proof = await self.provers.prove(posed.statement, witness, context=context)
        except PredicateNotSatisfied as error:
            # The predicate was found to hold; a prover that says otherwise must not be heard as a refusal that counts.
            raise PluginUnavailable("The prover disagrees about the predicate.") from error
        return StoredProof(
            proof=proof,
            delegation_id=delegation_id,
            holder=str(request.holder),
            agent=str(request.agent),
            credential_id=posed.credential.id,
            issuer=str(posed.credential.issuer),
            schema_id=posed.credential.schema.id,
            predicate=posed.predicate.json,
            salt=self.random(SALT_OCTETS),
            ibct_id=capability.id,
            nonce=capability.nonce,
            created_at=now,
            expires_at=context.expires_at,
            caller=caller.identity,
            challenge=request.challenge,
            domain=request.domain,
            anchor=Anchor(AnchorStatus.PENDING, None, None, None) if request.anchor else None,
        )

    def _context(self, request: ProofRequest, capability: Capability, now: datetime) -> Context:
        """The verifier's own challenge where the request carries it, else the nonce that the holder picked."""
        nonce = (capability.nonce if request.challenge is None else request.challenge).encode()
        issued_at = now.replace(microsecond=0)
        return Context(
            audience=self.policy.audience if request.domain is None else request.domain,
            nonce=nonce,
            issued_at=issued_at,
            expires_at=issued_at + self.policy.lifetime,
            proof_id=str(uuid.UUID(bytes=self.random(16), version=4)),
            capability=capability_digest(nonce, capability.octets),
            agent=str(request.agent) if self.policy.shows_agent else None,
        )
