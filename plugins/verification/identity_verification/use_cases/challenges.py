"""createVerifierChallenge: a challenge for one domain and one successful verification. ``ChallengeUse`` uses it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Final

from msgspec import Struct

from identity_codec.multibase import base64url_encode
from identity_core.domain.callers import Caller
from identity_core.errors import InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.use_cases.proofs.steps import VERIFY_SCOPE
from identity_verification.ports import VerifierChallenge, VerifierChallenges
from identity_verification.use_cases.stored import PREFIX
from identity_verification.wire import CreateVerifierChallengeRequest

LIFETIME: Final = timedelta(hours=1)
"""The lifetime of a challenge: long enough for an agent that must first request a token from the holder."""


class CreateVerifierChallenge(Struct, frozen=True):
    """Use case createVerifierChallenge. Raises ``Forbidden``, ``InvalidRequest``. Raises ``Overloaded``: when the caller has far too many
    live challenges."""

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
