"""The handlers of the tag ``verifications``."""

from __future__ import annotations

from identity_codec.times import printed
from identity_codec.values import value_class
from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.use_cases.verifications import CreateVerifierChallenge


@value_class
class VerificationHandlers:
    """Handler of createVerifierChallenge."""

    challenge: CreateVerifierChallenge

    async def create_verifier_challenge(self, request: Request) -> Answer:
        text, challenge = await self.challenge(request.body, request.authenticated)
        body = wire.VerifierChallenge(challenge=text, domain=challenge.domain, expires_at=printed(challenge.expires_at))
        return Answer(201, body, headers=[NO_STORE])
