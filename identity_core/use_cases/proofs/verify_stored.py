"""verifyStoredProof: a proof that is kept here, checked anew, and what has become since of all that it stands on.

A revoked proof and a credential that is no longer in force make it wrong. A delegation that ended does not: it was in force
when the proof was made, and is a warning. Whoever knows the id may ask, because the id cannot be guessed and stands in the
proof; who took no part in the proof is told what a verifier is told who was sent it, and after its expiry nobody is told more.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from identity_core.domain.anchor import Anchor
from identity_core.domain.verification import ProofQuestion, ProofVerification
from identity_core.errors import ProofNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import Proofs
from identity_core.use_cases.dids.writer import RequestContext
from identity_core.use_cases.proofs.challenge_use import ChallengeUse
from identity_core.use_cases.proofs.check import CheckProof
from identity_core.use_cases.proofs.recording import RecordVerification
from identity_core.use_cases.proofs.status import ProofStatus
from identity_core.use_cases.proofs.verify import ReceivedProof


@dataclass(frozen=True, slots=True)
class VerifyStoredProof:
    """Raises ``ProofNotFound``, and what ``CheckProof`` does."""

    check: CheckProof
    freshness: ChallengeUse
    proofs: Proofs
    status: ProofStatus
    record: RecordVerification
    clock: Clock

    async def __call__(
        self, proof_id: str, question: ProofQuestion, occasion: RequestContext
    ) -> tuple[ProofVerification, Anchor | None]:
        now = self.clock.now()
        stored = await self.proofs.get(proof_id)
        if stored is None:
            raise ProofNotFound
        proof = stored.proof
        received = ReceivedProof(proof.proof, proof.public_signals, proof.predicate_type, proof.proof_id)
        if now >= stored.expires_at:
            verdict, anchor = await self.check.expired(received, question), None
        else:
            question, stale = await self.freshness.bound(question, occasion.caller, now)
            verdict = await self.check(received, question, now)
            if stale is not None:
                verdict = replace(verdict, checks=(*verdict.checks, stale))
            verdict, anchor = await self.status(verdict, stored, occasion.caller, now)
            verdict = await self.freshness.settle(question, verdict, now)
        await self.record(verdict, stored, occasion, now)
        return verdict, anchor
