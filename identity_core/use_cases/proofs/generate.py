"""generateDelegatedProof and createDelegatedPresentation: the checks in the documented order, then one use, then the proof.

The order is public (openapi/paths/proofs.yaml): 4 anchoring, 5–9 the capability, 10 earlier requests, 11–13 the delegation, 14–16
the credential, 17–18 the transaction that consumes, 19 the transaction that stores. From step 10 on a refusal uses up the token, and the
identical request gets it again; except in steps 12 and 13, which use up nothing. Failures (503, 504, 500) do not depend on the request
and use up nothing. No transaction is held while a proof is made. A use is finished and stored even if the client disconnects.
"""

from __future__ import annotations

import asyncio
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from msgspec import Struct, field

from identity_codec.structs import value_or
from identity_core.domain.activity import DONE, REFUSED, EventRecord, RequestContext
from identity_core.domain.delegations.delegation import AutonomyTable
from identity_core.domain.proofs.proof import Context, Witness, capability_digest
from identity_core.domain.proofs.stored import SALT_OCTETS, Anchor, DelegatedProof, StoredProof
from identity_core.errors import (
    IdentityError,
    InternalError,
    LedgerUnavailable,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
    PredicateNotSatisfied,
)
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import Anchoring, Earlier, Invocations, Lease, Outcome, RefusedInvocation
from identity_core.ports.suites import ProofSuites
from identity_core.use_cases.credentials.sealed import SealedCredentials
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.proofs.prepare import ProofRequest, prepare, required
from identity_core.use_cases.proofs.steps import (
    ProofAttempt,
    ProofPolicy,
    check_capability,
    check_delegation,
    check_scope,
    consumption,
    event_of,
    to_keep,
)
from identity_core.use_cases.record import Record
from identity_core.wire import DelegatedPresentationRequest

# The failure does not depend on the request: the same token is valid when the failed part works again.
_FAILURES: Final = (InternalError, LedgerUnavailable, Overloaded, PluginTimeout, PluginUnavailable)


class FairQueue(Struct, frozen=True):
    """A first-in, first-out queue of proof requests: one step of one proof in each iteration of the event loop.

    A request for a proof is ten times the work of a look-up, and many of them become ready at once: a commit wakes all requests whose
    rows it stores. One step at a time lets other requests run in between; they wait for one step and not for all. If no step has run in
    this iteration, a caller continues at once: waiting for the next iteration takes as long as a statement of the database.
    """

    # The first one runs, until the iteration of the event loop ends.
    _turns: deque[asyncio.Future[None]] = field(default_factory=deque)

    def __call__(self) -> asyncio.Future[None]:
        """Return a future that resolves when the caller may run."""
        loop = asyncio.get_running_loop()
        turn = loop.create_future()
        self._turns.append(turn)
        if len(self._turns) == 1:
            self._step(loop)
        return turn

    def _step(self, loop: asyncio.AbstractEventLoop) -> None:
        turn = self._turns[0]
        if not turn.done():
            turn.set_result(None)
        loop.call_soon(self._next, loop)

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._turns.popleft()
        if self._turns:
            self._step(loop)


class Answered(Struct, frozen=True):
    """The outcome of the request; ``is_replay`` if an identical one had that outcome before."""

    outcome: Outcome
    is_replay: bool


class GenerateDelegatedProof(Struct, frozen=True, kw_only=True):
    """Use case generateDelegatedProof. ``random`` returns bytes of the operating system's random source."""

    reader: DidReader
    sealed_credentials: SealedCredentials
    suites: ProofSuites
    invocations: Invocations
    anchoring: Anchoring
    autonomy: AutonomyTable
    record: Record
    clock: Clock
    random: Callable[[int], bytes]
    policy: ProofPolicy
    turns: FairQueue = field(default_factory=FairQueue)

    async def __call__(self, request: ProofRequest, context: RequestContext) -> Answered:
        """Return the outcome, which may be a refusal that used up the token. Raises ``InvalidRequest``, ``InvalidDid``, the refusals of
        steps 4 to 10 and 19, those of step 11 for an earlier proof, and the errors of ``ProofWorkers.prove``."""
        with self.reader.index.one_look():
            return await self._answer(request, context)

    async def _answer(self, request: ProofRequest, context: RequestContext) -> Answered:
        attempt = ProofAttempt.from_request(request, self.reader, self.clock.now())
        try:
            if attempt.anchor:
                self.anchoring.require_enabled()
            await self.turns()
            await check_capability(attempt, context.caller, self.reader, self.policy)
            found = await self.invocations.look_up(attempt.invocation, attempt.capability.delegation_id, attempt.now)
            earlier = found.outcome
            if isinstance(earlier, RefusedInvocation):
                return await self._answered(attempt, context, Earlier(earlier))
            try:
                check_delegation(attempt, found)
                if earlier is not None:
                    return await self._answered(attempt, context, Earlier(earlier))
                await self.prepare(attempt)
            except IdentityError as error:
                # Steps 12 and 13 read the request and the delegation, which the agent knows, so they do not use up the holder's token.
                if earlier is not None or isinstance(error, _FAILURES) or (attempt.chain and not attempt.credentials):
                    raise
                refused = RefusedInvocation.from_error(error)
                ended = await self.invocations.refuse(attempt.invocation, refused, self.clock.now())
                return await self._answered(attempt, context, ended)
            # If a client disconnects, the use must still have its proof: the started work is completed and stored.
            return await self._answered(attempt, context, await asyncio.shield(self._consumed(attempt, context)))
        except IdentityError as error:
            await self._refused(attempt, context, error.code)
            raise

    async def _answered(self, attempt: ProofAttempt, context: RequestContext, ended: Outcome | Earlier) -> Answered:
        if isinstance(ended, Earlier):
            await self.record(context, event_of(attempt, "replayed"), attempt.now)
            return Answered(ended.outcome, is_replay=True)
        if isinstance(ended, RefusedInvocation):
            await self._refused(attempt, context, ended.code)
        return Answered(ended, is_replay=False)

    async def _refused(self, attempt: ProofAttempt, context: RequestContext, code: str) -> None:
        await self.record(context, event_of(attempt, REFUSED, code), attempt.now)

    async def prepare(self, attempt: ProofAttempt) -> None:
        """Run steps 12 to 16, which use up nothing. Raises their refusals."""
        ids = [part.credential_id for part in attempt.asked.parts]
        credentials = tuple([await self.sealed_credentials.find(one, attempt.holder) for one in ids])
        check_scope(attempt, credentials)
        level = attempt.chain.effective_autonomy
        self.autonomy.check_proof(level, pinned=all(attempt.pinned), anchor=attempt.anchor)
        attempt.credentials = credentials
        usable = required(credentials)
        for credential in usable:
            credential.check_usable(attempt.now)
        context = partial(_context_of, attempt, attempt.now, self.random, self.policy)
        attempt.prepared = await prepare(
            attempt.asked, attempt.claims, usable, self.sealed_credentials, self.suites, context
        )

    async def _consumed(self, attempt: ProofAttempt, context: RequestContext) -> Outcome | Earlier:
        """Run steps 17 to 19, and obtain the receipt of the anchor."""
        spending = consumption(attempt, self.policy)
        witnesses: list[Witness] = []

        def holds(sealed: Sequence[bytes]) -> bool:
            # The values for the prover; if the transaction is repeated, those of the last run.
            pairs = zip(attempt.prepared.credentials, sealed, strict=True)
            witnesses[:] = [attempt.prepared.seal.open(*pair) for pair in pairs]
            return attempt.prepared.holds(witnesses)

        lease = await self.invocations.consume(attempt.invocation, spending, holds, self.clock.now())
        if not isinstance(lease, Lease):
            return lease
        await self.turns()
        proof = await self._prove_and_store(attempt, context, lease, witnesses)
        anchor = None if proof.anchor is None else await self._receipt(proof, attempt, lease)
        return DelegatedProof(proof.delegation_id, proof.proof, anchor)

    async def _receipt(self, proof: StoredProof, attempt: ProofAttempt, lease: Lease) -> Anchor:
        receipt = await self.anchoring.request(proof.id, value_or(attempt.request.sync_wait_ms, 0))
        if receipt != proof.anchor:
            await self.invocations.amend(lease, receipt)
        return receipt

    async def _prove_and_store(
        self, attempt: ProofAttempt, context: RequestContext, lease: Lease, witnesses: Sequence[Witness]
    ) -> StoredProof:
        is_kept = False
        try:
            now = self.clock.now()
            bound = _context_of(attempt, now, self.random, self.policy)
            # Another request counted a lease that was taken over, and opened the credentials in its own process.
            known = witnesses or [await self.sealed_credentials.witness(one) for one in attempt.prepared.credentials]
            made = await attempt.prepared.plan.prove(known, bound)
            salt, caller = self.random(SALT_OCTETS), context.caller
            proof = to_keep(attempt, made, created_at=now, expires_at=bound.expires_at, salt=salt, caller=caller)
            event = event_of(attempt, DONE, proof=proof)
            await self.invocations.finish(lease, proof, EventRecord(event, context, proof.created_at))
            is_kept = True
            return proof
        except PredicateNotSatisfied as error:
            # The predicate is satisfied; if a prover reports otherwise, its error must not count as a refusal.
            raise PluginUnavailable("The prover disagrees about the predicate.") from error
        finally:
            if not is_kept:
                # The identical request may retry at once; the use stays counted.
                await self.invocations.release(lease)


class CreateDelegatedPresentation(Struct, frozen=True):
    """Use case createDelegatedPresentation: the steps of generateDelegatedProof, for several predicates or credentials."""

    making: GenerateDelegatedProof

    async def __call__(self, request: DelegatedPresentationRequest, context: RequestContext) -> Answered:
        """Return the outcome. Raises the errors of ``GenerateDelegatedProof``."""
        return await self.making(request, context)


def _context_of(attempt: ProofAttempt, now: datetime, random: Callable[[int], bytes], policy: ProofPolicy) -> Context:
    """Return the context that binds the proof: the verifier's own challenge if the request has one, else the nonce that the holder
    chose."""
    request, capability = attempt.request, attempt.capability
    nonce = value_or(request.challenge, capability.nonce).encode()
    issued_at = now.replace(microsecond=0)
    expires_at = issued_at + policy.lifetime
    if attempt.prepared is not None:
        expires_at = attempt.prepared.plan.expiry(issued_at, expires_at)
    return Context(
        audience=value_or(request.domain, policy.audience),
        nonce=nonce,
        issued_at=issued_at,
        expires_at=expires_at,
        proof_id=str(uuid.UUID(bytes=random(16), version=4)),
        capability=capability_digest(nonce, capability.encoded),
        agent=str(attempt.agent) if policy.shows_agent else None,
    )
