"""Forgets what has expired, whether or not anybody asks for anything: spent challenges, stored answers, counters of past days.

A spent challenge is kept for an hour beyond its end, so that a clock that is set back does not make it fresh again; a change of a
DID is refused a second time by its log anyway. A verifier's challenge that was spent says who may ask for the status of a proof, so it
is kept for the life of a proof that was made at its end. Left out: what has retention rules of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from identity_core.ports.clock import Clock
from identity_core.ports.repositories import IdempotencyKeys, SpentChallenges
from identity_core.ports.usage import Usage
from identity_core.ports.verifications import VerifierChallenges
from identity_core.use_cases.background import Repeating

AT_ONCE: Final = 500
"""Rows of a step, so that no writer waits long."""

SOON_SECONDS: Final = 0.2
CLOCK_SET_BACK: Final = timedelta(hours=1)
DAY: Final = timedelta(days=1)


@dataclass(slots=True)
class ForgetExpired(Repeating):
    """One step deletes a bounded number of rows of each kind."""

    complaint = "what has expired cannot be deleted"
    interval_seconds = 30.0

    challenges: SpentChallenges
    asked: VerifierChallenges
    proof_lifetime: timedelta
    answers: IdempotencyKeys
    usage: Usage
    clock: Clock

    async def step(self) -> float:
        """Comes back soon while there is more."""
        now = self.clock.now()
        today = timedelta(seconds=now.timestamp()) // DAY
        gone = (
            await self.challenges.forget(now - CLOCK_SET_BACK, limit=AT_ONCE),
            await self.asked.forget(now - max(self.proof_lifetime, CLOCK_SET_BACK), limit=AT_ONCE),
            await self.answers.forget(now, limit=AT_ONCE),
            await self.usage.forget(today, limit=AT_ONCE),
        )
        return SOON_SECONDS if max(gone) == AT_ONCE else self.interval_seconds
