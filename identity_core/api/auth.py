"""The handlers of the tag ``auth``. Answers that carry a challenge or a token may not be cached."""

from __future__ import annotations

from collections.abc import Sequence

from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.codec.structs import UNSET
from identity_core.codec.times import printed
from identity_core.domain.tokens import scope_text
from identity_core.throttle.policy import Network, bucket_address, client_address
from identity_core.use_cases.auth.challenge import GetDidAuthChallenge
from identity_core.use_cases.auth.token_keys import GetJwks
from identity_core.use_cases.auth.tokens import IssuedToken, IssueToken
from identity_core.values import value_class


@value_class
class AuthHandlers:
    """getDidAuthChallenge, issueToken, getJwks."""

    challenge: GetDidAuthChallenge
    issue: IssueToken
    jwks: GetJwks
    trusted_proxies: Sequence[Network] = ()

    async def get_did_auth_challenge(self, request: Request) -> Answer:
        address = client_address(request.client_address, request.header("x-forwarded-for"), self.trusted_proxies)
        offer = await self.challenge(request.query, bucket_address(address))
        body = wire.Challenge(challenge=offer.text, did=offer.did, expires_at=printed(offer.expires_at))
        return Answer(200, body, headers=[NO_STORE])

    async def issue_token(self, request: Request) -> Answer:
        return token_answer(await self.issue(request.body, request.context))

    async def get_jwks(self, request: Request) -> Answer:
        return Answer(200, await self.jwks(), headers=[("Cache-Control", "public, max-age=300")])


def token_answer(issued: IssuedToken) -> Answer:
    """RFC 6749 §5.1."""
    token, seconds = issued.token, issued.token.expires_at - issued.token.issued_at
    body = wire.TokenAnswer(
        access_token=issued.text,
        token_type="Bearer",  # noqa: S106 - RFC 6749 §5.1
        expires_in=int(seconds.total_seconds()),
        scope=UNSET if token.scopes is None else scope_text(token.scopes),
    )
    return Answer(200, body, headers=[NO_STORE])
