"""verifyProof: the check of a proof that somebody sends along.

A proof that does not hold is an answer and no error. Whoever is known leaves a row in the history; a stranger leaves none. Where
the proof is one that is kept here, and the caller took part in it, what is known of its credential counts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from identity_core.domain.verification import ProofQuestion, ProofVerification
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import Proofs, StoredProof
from identity_core.use_cases.dids.writer import RequestContext
from identity_core.use_cases.proofs.anonymous import CheckAnonymously
from identity_core.use_cases.proofs.challenge_use import ChallengeUse
from identity_core.use_cases.proofs.check import CheckProof
from identity_core.use_cases.proofs.recording import RecordVerification
from identity_core.use_cases.proofs.status import ProofStatus
from identity_core.use_cases.proofs.verify import ReceivedProof


@dataclass(frozen=True, slots=True)
class VerifyProof:
    """Raises what ``CheckProof`` does. ``occasion`` is None for a stranger."""

    check: CheckProof
    check_anonymously: CheckAnonymously
    freshness: ChallengeUse
    proofs: Proofs
    status: ProofStatus
    record: RecordVerification
    clock: Clock

    async def __call__(
        self, received: ReceivedProof, question: ProofQuestion, occasion: RequestContext | None
    ) -> ProofVerification:
        now = self.clock.now()
        caller = None if occasion is None else occasion.caller
        question, stale = await self.freshness.bound(question, caller, now)
        check = self.check_anonymously if occasion is None else self.check
        verdict = await check(received, question, now)
        if stale is not None:
            verdict = replace(verdict, checks=(*verdict.checks, stale))
        stored = None if occasion is None else await self._kept(received, verdict)
        if occasion is not None and stored is not None:
            verdict, _ = await self.status(verdict, stored, occasion.caller, now)
        verdict = await self.freshness.settle(question, verdict, now)
        if occasion is not None:
            await self.record(verdict, stored, occasion, now)
        return verdict

    async def _kept(self, received: ReceivedProof, verdict: ProofVerification) -> StoredProof | None:
        """The stored proof that this is, octet by octet. An id alone is what anybody can write into a proof."""
        if verdict.presented is None:
            return None
        stored = await self.proofs.get(verdict.presented.context.proof_id)
        return stored if stored is not None and stored.proof.proof == received.proof else None
