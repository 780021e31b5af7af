"""generateDelegatedProof: the checks in the order that the document promises, then one use, then the proof.

The order is public (openapi/paths/proofs.yaml): 4 anchoring, 5–9 ``admission``, 10 earlier requests, 11–13 ``authority``, 14–16
``question``, 17–18 the transaction that spends, 19 the transaction that stores. Whatever refuses a token from 10 on spends it, and is
what the identical request gets again; what fails (503, 504, 500) says nothing of the request and spends nothing. No transaction is held
while a proof is made. What was spent is finished and stored even when the client goes away.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from identity_core.domain.autonomy import AutonomyTable
from identity_core.domain.capability import Capability
from identity_core.domain.delegated_proof import DelegatedProof, ProofRequest
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.errors import (
    AnchoringDisabled,
    IdentityError,
    InternalError,
    LedgerUnavailable,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
    RequestInProgress,
)
from identity_core.ports.anchoring import AnchoringPort
from identity_core.ports.clock import Clock
from identity_core.ports.invocations import (
    Consumption,
    Disclosure,
    Earlier,
    Invocation,
    Invocations,
    Lease,
    Outcome,
    RefusedInvocation,
)
from identity_core.ports.proofs import StoredProof
from identity_core.use_cases.dids.writer import RequestContext
from identity_core.use_cases.proofs.admission import CheckCapability
from identity_core.use_cases.proofs.authority import FindDelegation, Scope, check_autonomy, check_scope
from identity_core.use_cases.proofs.fair_queue import FairQueue
from identity_core.use_cases.proofs.journal import ProofJournal
from identity_core.use_cases.proofs.make import MakeProof, ProofPolicy
from identity_core.use_cases.proofs.question import PreparedProof, PrepareProof

# Nothing was found out about the request: the same token serves when whatever failed works again.
_FAILURES: Final = (InternalError, LedgerUnavailable, Overloaded, PluginTimeout, PluginUnavailable)


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

    admit: CheckCapability
    authority: FindDelegation
    autonomy: AutonomyTable
    pose: PrepareProof
    make: MakeProof
    invocations: Invocations
    anchoring: AnchoringPort | None
    journal: ProofJournal
    clock: Clock
    policy: ProofPolicy
    turns: FairQueue = field(default_factory=FairQueue)

    async def __call__(self, request: ProofRequest, occasion: RequestContext) -> Answered:
        """The outcome; a refusal that spent the token is one. Raises the refusals of steps 4 to 10 and 19, those that an earlier proof
        meets at 11, and what ``ProofWorkers.prove`` raises."""
        now = self.clock.now()
        progress = _Progress()
        try:
            answered = await self._answer(request, occasion, now, progress)
        except IdentityError as error:
            await self._tell_refusal(request, occasion, now, progress, error.code)
            raise
        if answered.is_replay:
            await self.journal.replayed(request, occasion, now)
        elif isinstance(answered.outcome, RefusedInvocation):
            await self._tell_refusal(request, occasion, now, progress, answered.outcome.code)
        return answered

    async def _answer(
        self, request: ProofRequest, occasion: RequestContext, now: datetime, progress: _Progress
    ) -> Answered:
        if request.anchor and (self.anchoring is None or not self.anchoring.enabled):
            raise AnchoringDisabled
        await self.turns()
        capability = await self.admit(request, occasion.caller, now)
        progress.is_genuine = True
        invocation = self._invocation(request, capability)
        earlier = await self.invocations.find(invocation, now)
        if isinstance(earlier, RefusedInvocation):
            return Answered(earlier, is_replay=True)
        try:
            chain = await self.authority(request, capability, now)
            progress.delegation_id = chain.leaf.id
            if earlier is not None:
                return Answered(earlier, is_replay=True)
            posed, spending = await self._question(request, capability, chain, now)
        except IdentityError as error:
            if earlier is not None or isinstance(error, _FAILURES):
                raise
            return _answered(await self.invocations.refuse(invocation, RefusedInvocation.of(error), self.clock.now()))
        # A client that goes away must not leave a use without its proof: what has begun is done and kept.
        return await asyncio.shield(self._spend(request, capability, posed, invocation, spending, occasion))

    async def _question(
        self, request: ProofRequest, capability: Capability, chain: DelegationChain, now: datetime
    ) -> tuple[PreparedProof, Consumption]:
        """Steps 12 to 16: what is asked, and what will be counted for it."""
        credential = await self.pose.find(request)
        scope = check_scope(request, capability, chain, credential)
        check_autonomy(self.autonomy, chain, scope, anchor=request.anchor)
        posed = await self.pose(request, credential, scope.value, now)
        return posed, self._spending(chain, posed, scope, now)

    async def _spend(
        self,
        request: ProofRequest,
        capability: Capability,
        posed: PreparedProof,
        invocation: Invocation,
        spending: Consumption,
        occasion: RequestContext,
    ) -> Answered:
        lease = await self.invocations.consume(invocation, spending, posed.holds, self.clock.now())
        if not isinstance(lease, Lease):
            return _answered(lease)
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
        self,
        request: ProofRequest,
        capability: Capability,
        posed: PreparedProof,
        lease: Lease,
        occasion: RequestContext,
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

    def _spending(self, chain: DelegationChain, posed: PreparedProof, scope: Scope, now: datetime) -> Consumption:
        question = None
        if not scope.is_pinned:
            window = self.policy.disclosure_window
            since = None if window is None else now - window
            question = Disclosure(posed.predicate.attribute, posed.digest, self.policy.disclosures, since)
        delegations = tuple(record.id for record in chain.records)
        return Consumption(delegations, posed.credential.id, question)

    async def _tell_refusal(
        self, request: ProofRequest, occasion: RequestContext, now: datetime, progress: _Progress, code: str
    ) -> None:
        # That the first of two identical requests still runs is no event of anybody's.
        is_event = progress.is_genuine and code != RequestInProgress.code
        await self.journal.refused(
            request, occasion, now, code, delegation_id=progress.delegation_id, is_genuine=is_event
        )


def _answered(refusal: RefusedInvocation | Earlier) -> Answered:
    if isinstance(refusal, Earlier):
        return Answered(refusal.outcome, is_replay=True)
    return Answered(refusal, is_replay=False)
