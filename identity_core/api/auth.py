"""The handlers of the tag ``auth``. An answer that carries a challenge may not be cached."""

from __future__ import annotations

from collections.abc import Sequence

from identity_codec.times import printed
from identity_codec.values import value_class
from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.throttle.policy import Network, bucket_address, client_address
from identity_core.use_cases.auth.challenge import GetDidAuthChallenge


@value_class
class AuthHandlers:
    """getDidAuthChallenge."""

    challenge: GetDidAuthChallenge
    trusted_proxies: Sequence[Network] = ()

    async def get_did_auth_challenge(self, request: Request) -> Answer:
        address = client_address(request.client_address, request.header("x-forwarded-for"), self.trusted_proxies)
        offer = await self.challenge(request.query, bucket_address(address))
        body = wire.Challenge(challenge=offer.text, did=offer.did, expires_at=printed(offer.expires_at))
        return Answer(200, body, headers=[NO_STORE])
