"""Challenges of verifiers: obtained here for one domain, good for one success (openapi/DECISIONS.md §4.9).

A verifier hands the text to the agent, who asks for a proof bound to it; the first verification that holds spends it. A verifier may
as well use challenges of its own making: those are compared and nothing else, and their one use is the verifier's to watch.

Who may see or take back a stored proof: its holder, its agent, and an operator who may act for the holder.

For everybody else there is no such proof: one look-up and one answer, whether it exists or not. Its status is also for the
verifier whose challenge it answers.

getProof: a stored proof for those who have a part in it.

revokeProof: the holder, the agent who obtained it, or an operator takes a proof back.

What verifiers hold stays mathematically right; from now on the stored verification refuses it. The first revocation
counts, and repeating it changes nothing. Where the proof was anchored, its anchor is revoked with it.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Final

from identity_codec.structs import given
from identity_codec.values import value_class
from identity_core.domain.activity import Event, EventRecord, RequestContext, StatusChanged
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.checks import Check, CheckCode, wrong
from identity_core.domain.proofs.stored import ProofRevocation, StoredProof
from identity_core.domain.proofs.verification import Expectation, ProofVerification
from identity_core.errors import Forbidden, ProofNotFound
from identity_core.ports.activity import VerifierChallenges
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import Anchoring, Proofs
from identity_core.use_cases.record import Record
from identity_core.wire import RevokeProofRequest

PREFIX: Final = "vc1_"
"""Begins every challenge of ours, so that one that was forgotten is not mistaken for one of the verifier's own."""
_NAME: Final = "challengeUse"
"""Beside the check ``challenge``, which compares."""


@value_class
class ChallengeUse:
    """Judges and spends the challenge of a question."""

    challenges: VerifierChallenges

    async def bound(
        self, question: Expectation, caller: Caller | None, now: datetime
    ) -> tuple[Expectation, Check | None]:
        """The question with the domain that the challenge was obtained for, and what is wrong with the challenge, if anything."""
        text = _own_challenge(question)
        if text is None:
            return question, None
        found = await self.challenges.find(text)
        if found is None or caller is None or found.owner != caller.owner or now >= found.expires_at:
            # Unknown, expired and another caller's challenge have one answer: a caller does not learn which ones others have.
            return question, wrong(_NAME, CheckCode.CHALLENGE_UNKNOWN)
        if question.audience not in (None, found.domain):
            return question, wrong("domain", CheckCode.DOMAIN_MISMATCH)
        question = replace(question, audience=found.domain)
        return question, wrong(_NAME, CheckCode.CHALLENGE_SPENT) if found.spent else None

    async def settle(self, question: Expectation, verdict: ProofVerification, now: datetime) -> ProofVerification:
        """Spends the challenge of a verification that held; the second to come loses."""
        text = _own_challenge(question)
        if not verdict.verified or text is None:
            return verdict
        if await self.challenges.spend(text, now):
            return verdict
        return replace(verdict, checks=(*verdict.checks, wrong(_NAME, CheckCode.CHALLENGE_SPENT)))


def _own_challenge(question: Expectation) -> str | None:
    """The text of a challenge that was obtained here; None for one of the verifier's own making."""
    is_ours = question.nonce is not None and question.nonce.startswith(PREFIX.encode())
    return question.nonce.decode() if is_ours and question.nonce is not None else None


@value_class
class ProofAccess:
    """Lookup of a proof for a caller that took part in it."""

    proofs: Proofs
    challenges: VerifierChallenges

    async def __call__(self, proof_id: str, caller: Caller, scope: str) -> StoredProof:
        """Raises ``Forbidden`` for a key or token without ``scope``, which says nothing about the proof, and ``ProofNotFound``."""
        caller.require_scope(scope)
        stored = await self.proofs.get(proof_id)
        if stored is None or not _takes_part(stored, caller):
            raise ProofNotFound
        return stored

    async def knows_status(self, stored: StoredProof, caller: Caller) -> bool:
        """Whether the caller may learn what has become of the proof: who has a part in it, and the verifier for whose challenge, obtained
        here, it was made."""
        if _takes_part(stored, caller):
            return True
        if stored.challenge is None or not stored.challenge.startswith(PREFIX):
            return False
        challenge = await self.challenges.find(stored.challenge)
        return challenge is not None and challenge.owner == caller.owner


def _takes_part(stored: StoredProof, caller: Caller) -> bool:
    if caller.api_key is not None:
        targets = caller.api_key.allowed_targets
        return targets is None or stored.holder in targets
    return str(caller.acting) in (stored.holder, stored.agent)


VERIFY_SCOPE = "zkp:verify"


@value_class
class GetProof:
    """Raises what ``ProofAccess`` does. An operator's look is audited."""

    access: ProofAccess
    record: Record
    clock: Clock

    async def __call__(self, proof_id: str, context: RequestContext) -> StoredProof:
        stored = await self.access(proof_id, context.caller, VERIFY_SCOPE)
        if context.caller.key is not None:
            await self.record(context, Event(target=stored.holder, details={"proofId": stored.id}), self.clock.now())
        return stored


PROVE_SCOPE = "zkp:prove"
REVOKED = "proof.revoked"


@value_class
class RevokeProof:
    """Raises what ``ProofAccess`` does; ``Forbidden`` for a client."""

    access: ProofAccess
    proofs: Proofs
    anchoring: Anchoring
    clock: Clock

    async def __call__(self, proof_id: str, wish: RevokeProofRequest, context: RequestContext) -> StoredProof:
        if context.caller.client is not None:
            raise Forbidden("A client that a DID has let in takes nothing back.")
        before = await self.access(proof_id, context.caller, PROVE_SCOPE)
        revocation = ProofRevocation(self.clock.now(), context.caller.identity, given(wish.reason, None))
        parties = replace(before.parties, issuer=None)
        event = StatusChanged(REVOKED, before.holder, parties, details={"proofId": before.id})
        stored = await self.proofs.revoke(before.id, revocation, EventRecord(event, context, revocation.at))
        if stored is None:
            raise ProofNotFound
        if stored.anchor is not None:
            stored = replace(stored, anchor=await self.anchoring.revoke(stored, given(wish.sync_wait_ms, 0)))
        return stored
