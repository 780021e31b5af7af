"""Challenges of verifiers: obtained here for one domain, good for one success (research/delegation.md §3.10).

A verifier hands the text to the agent, who asks for a proof bound to it; the first verification that holds spends it. A verifier may
as well use challenges of its own making: those are compared and nothing else, and their one use is the verifier's to watch.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from identity_core.domain.caller import Caller
from identity_core.domain.verification import Check, CheckCode, ProofQuestion, ProofVerification, wrong
from identity_core.ports.verifications import VerifierChallenges

PREFIX: Final = "vc1_"
"""Begins every challenge of ours, so that one that was forgotten is not mistaken for one of the verifier's own."""
_NAME: Final = "challengeUse"
"""Beside the check ``challenge``, which compares."""


@dataclass(frozen=True, slots=True)
class ChallengeUse:
    """Judges and spends the challenge of a question."""

    challenges: VerifierChallenges

    async def bound(
        self, question: ProofQuestion, caller: Caller | None, now: datetime
    ) -> tuple[ProofQuestion, Check | None]:
        """The question with the domain that the challenge was obtained for, and what is wrong with the challenge, if anything."""
        if question.challenge is None or not question.challenge.startswith(PREFIX):
            return question, None
        found = await self.challenges.find(question.challenge)
        if found is None or caller is None or found.owner != owner_of(caller) or now >= found.expires_at:
            # Unknown, expired and another's are one answer: nobody learns what others have obtained.
            return question, wrong(_NAME, CheckCode.CHALLENGE_UNKNOWN)
        if question.domain not in (None, found.domain):
            return question, wrong("domain", CheckCode.DOMAIN_MISMATCH)
        question = replace(question, domain=found.domain)
        return question, wrong(_NAME, CheckCode.CHALLENGE_SPENT) if found.spent else None

    async def settle(self, question: ProofQuestion, verdict: ProofVerification, now: datetime) -> ProofVerification:
        """Spends the challenge of a verification that held; whoever comes second loses."""
        text = question.challenge
        if not verdict.verified or text is None or not text.startswith(PREFIX):
            return verdict
        if await self.challenges.spend(text, now):
            return verdict
        return replace(verdict, checks=(*verdict.checks, wrong(_NAME, CheckCode.CHALLENGE_SPENT)))


def owner_of(caller: Caller) -> str:
    """Whose challenge it is: a DID's own whether it signs or bears a token, else the caller's."""
    if caller.operator is None and (own := caller.did or caller.subject) is not None:
        return str(own)
    return caller.identity
