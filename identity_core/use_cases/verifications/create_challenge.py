"""createVerifierChallenge: a challenge for one domain, good for one success. ``use_cases/proofs/challenge_use.py`` spends it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

from identity_core.codec.multibase import base64url_encode
from identity_core.domain.caller import Caller
from identity_core.ports.clock import Clock
from identity_core.ports.verifications import VerifierChallenge, VerifierChallenges
from identity_core.use_cases.proofs.challenge_use import PREFIX, owner_of

LIFETIME: Final = timedelta(hours=1)
"""Long enough for an agent who has to ask the holder first."""


@dataclass(frozen=True, slots=True)
class CreateVerifierChallenge:
    """Raises ``Overloaded`` when far too many of the caller's are live."""

    challenges: VerifierChallenges
    clock: Clock
    random: Callable[[int], bytes]
    lifetime: timedelta

    async def __call__(self, domain: str, caller: Caller) -> tuple[str, VerifierChallenge]:
        now = self.clock.now()
        text = PREFIX + base64url_encode(self.random(32))
        challenge = VerifierChallenge(owner_of(caller), domain, now + self.lifetime, spent=False)
        await self.challenges.add(text, challenge, now)
        return text, challenge
