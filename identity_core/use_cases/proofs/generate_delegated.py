"""generateDelegatedProof: the checks in the order that the document promises, then one use, then the proof.

The order is public (openapi/paths/proofs.yaml): 4 anchoring, 5–9 ``admission``, 10 ``authority``, 11 earlier requests, 12–13
``authority``, 14–16 ``question``, 17–18 the transaction that spends, 19 the transaction that stores. No transaction is held while
a proof is made. What was spent is finished and stored even when the client goes away.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime

from identity_core.domain.autonomy import AutonomyTable
from identity_core.domain.capability import Capability
from identity_core.domain.delegated_proof import DelegatedProof, ProofRequest
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.domain.errors import AnchoringDisabled, IdentityError, PredicateNotSatisfied, RequestInProgress
from identity_core.ports.anchoring import Anchoring
from identity_core.ports.clock import Clock
from identity_core.ports.invocations import (
    Earlier,
    Invocation,
    Invocations,
    Lease,
    Outcome,
    Question,
    Refused,
    Spending,
)
from identity_core.ports.proofs import StoredProof
from identity_core.use_cases.dids.writer import Occasion
from identity_core.use_cases.proofs.admission import AdmitCapability
from identity_core.use_cases.proofs.authority import FindAuthority, Scope, check_autonomy, check_scope
from identity_core.use_cases.proofs.journal import ProofJournal
from identity_core.use_cases.proofs.make import MakeProof, ProofPolicy
from identity_core.use_cases.proofs.question import PosedQuestion, PoseQuestion
from identity_core.use_cases.proofs.turns import Turns


@dataclass(frozen=True, slots=True)
class Answered:
    """How the request ended; ``is_replay`` when an identical one had that outcome before."""

    outcome: Outcome
    is_replay: bool


@dataclass(slots=True)
class _Progress:
    """How far a request came, for the journal."""

    is_genuine: bool = False
    delegation_id: str | None = None


@dataclass(frozen=True, slots=True)
class GenerateDelegatedProof:
    """``anchoring`` is None where this installation has none."""

    admit: AdmitCapability
    authority: FindAuthority
    autonomy: AutonomyTable
    pose: PoseQuestion
    make: MakeProof
    invocations: Invocations
    anchoring: Anchoring | None
    journal: ProofJournal
    clock: Clock
    policy: ProofPolicy
    turns: Turns = field(default_factory=Turns)

    async def __call__(self, request: ProofRequest, occasion: Occasion) -> Answered:
        """The outcome. Raises the refusals of steps 4 to 17 and 19 in this order, and what ``ProofWorkers.prove`` raises; a predicate
        that does not hold is an outcome."""
        now = self.clock.now()
        progress = _Progress()
        try:
            answered = await self._answer(request, occasion, now, progress)
        except IdentityError as error:
            await self._tell_refusal(request, occasion, now, progress, error)
            raise
        if answered.is_replay:
            await self.journal.replayed(request, occasion, now)
        elif isinstance(answered.outcome, Refused):
            await self._tell_refusal(request, occasion, now, progress, PredicateNotSatisfied())
        return answered

    async def _answer(self, request: ProofRequest, occasion: Occasion, now: datetime, progress: _Progress) -> Answered:
        if request.anchor and (self.anchoring is None or not self.anchoring.enabled):
            raise AnchoringDisabled
        await self.turns()
        capability = await self.admit(request, occasion.caller, now)
        progress.is_genuine = True
        chain = await self.authority(request, capability, now)
        progress.delegation_id = chain.leaf.id
        invocation = self._invocation(request, capability)
        earlier = await self.invocations.find(invocation, now)
        if earlier is not None:
            return Answered(earlier, is_replay=True)
        credential = await self.pose.find(request)
        scope = check_scope(request, capability, chain, credential)
        check_autonomy(self.autonomy, chain, scope, anchor=request.anchor)
        posed = await self.pose(request, credential, scope.value, now)
        spending = self._spending(chain, posed, scope, now)
        # A client that goes away must not leave a use without its proof: what has begun is done and kept.
        return await asyncio.shield(self._spend(request, capability, posed, invocation, spending, occasion))

    async def _spend(
        self,
        request: ProofRequest,
        capability: Capability,
        posed: PosedQuestion,
        invocation: Invocation,
        spending: Spending,
        occasion: Occasion,
    ) -> Answered:
        lease = await self.invocations.consume(invocation, spending, self.clock.now())
        if isinstance(lease, Refused):
            return Answered(lease, is_replay=False)
        if isinstance(lease, Earlier):
            return Answered(lease.outcome, is_replay=True)
        await self.turns()
        proof = await self._prove(request, capability, posed, lease, occasion)
        await self.turns()
        await self.journal.generated(request, proof, occasion)
        anchor = proof.anchor
        if anchor is not None and self.anchoring is not None:
            anchor = await self.anchoring.request(proof.id, request.sync_wait_ms)
            if anchor != proof.anchor:
                await self.invocations.amend(lease, anchor)
        return Answered(DelegatedProof(proof.delegation_id, proof.proof, anchor), is_replay=False)

    async def _prove(
        self, request: ProofRequest, capability: Capability, posed: PosedQuestion, lease: Lease, occasion: Occasion
    ) -> StoredProof:
        is_stored = False
        try:
            proof = await self.make(request, capability, posed, lease.spending.delegations[0], occasion.caller)
            await self.turns()
            await self.invocations.finish(lease, proof)
            is_stored = True
            return proof
        finally:
            if not is_stored:
                # The identical request may try again at once; the use stays counted.
                await self.invocations.release(lease)

    def _invocation(self, request: ProofRequest, capability: Capability) -> Invocation:
        return Invocation(
            capability.invoker,
            capability.nonce_digest,
            capability.id_digest,
            request.digest,
            capability.expires_at + self.policy.retention,
        )

    def _spending(self, chain: DelegationChain, posed: PosedQuestion, scope: Scope, now: datetime) -> Spending:
        question = None
        if not scope.is_pinned:
            most, since = self.policy.disclosures, now - self.policy.disclosure_window
            question = Question(posed.predicate.attribute, posed.digest, most, since)
        delegations = tuple(record.id for record in chain.records)
        return Spending(delegations, posed.credential.id, question, posed.satisfied)

    async def _tell_refusal(
        self, request: ProofRequest, occasion: Occasion, now: datetime, progress: _Progress, error: IdentityError
    ) -> None:
        # That the first of two identical requests still runs is no event of anybody's.
        is_event = progress.is_genuine and not isinstance(error, RequestInProgress)
        await self.journal.refused(
            request, occasion, now, error.code, delegation_id=progress.delegation_id, is_genuine=is_event
        )
