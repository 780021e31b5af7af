"""createVerifierChallenge: a challenge for one domain, good for one success. ``ChallengeUse`` uses it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from identity_codec.multibase import base64url_encode
from identity_codec.values import value_class
from identity_core.domain.callers import Caller
from identity_core.errors import InvalidRequest
from identity_core.ports.activity import VerifierChallenge, VerifierChallenges
from identity_core.ports.clock import Clock
from identity_core.use_cases.proofs.stored import PREFIX, VERIFY_SCOPE
from identity_core.wire import CreateVerifierChallengeRequest

LIFETIME: Final = timedelta(hours=1)
"""Long enough for an agent who has to ask the holder first."""


@value_class
class CreateVerifierChallenge:
    """Raises ``Forbidden``, ``InvalidRequest``; ``Overloaded`` when far too many of the caller's are live."""

    challenges: VerifierChallenges
    clock: Clock
    random: Callable[[int], bytes]
    lifetime: timedelta

    async def __call__(self, wish: CreateVerifierChallengeRequest, caller: Caller) -> tuple[str, VerifierChallenge]:
        caller.require_scope(VERIFY_SCOPE)
        if not wish.domain.isprintable():
            raise InvalidRequest("domain has characters that no proof can be bound to.", details={"member": "domain"})
        now = self.clock.now()
        text = PREFIX + base64url_encode(self.random(32))
        challenge = VerifierChallenge(caller.owner, wish.domain, now + self.lifetime, spent=False)
        await self.challenges.add(text, challenge, now)
        return text, challenge
