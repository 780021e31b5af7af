"""The handlers of the tag ``auth``. Answers that carry a challenge or a token may not be cached."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.codec import multibase
from identity_core.codec.structs import UNSET
from identity_core.codec.times import printed
from identity_core.domain.dids.challenge import PURPOSES
from identity_core.domain.tokens import scope_text
from identity_core.errors import InvalidRequest
from identity_core.use_cases.auth.challenge import GetDidAuthChallenge
from identity_core.use_cases.auth.tokens import GetJwks, IssueToken
from identity_core.use_cases.dids.index import DidReader


@dataclass(frozen=True, slots=True)
class AuthHandlers:
    """getDidAuthChallenge, issueToken, getJwks."""

    reader: DidReader
    challenge: GetDidAuthChallenge
    issue: IssueToken
    jwks: GetJwks

    async def get_did_auth_challenge(self, request: Request) -> Answer:
        query: wire.GetDidAuthChallengeQuery = request.query
        did, purpose = self.reader.parse(query.did), query.purpose
        if purpose is not None and purpose not in PURPOSES:
            raise InvalidRequest("The purpose is unknown.", details={"supported": [*sorted(PURPOSES)]})
        if query.body_hash is not None:
            _check_hash(query.body_hash)
        offer = await self.challenge(did, purpose=purpose, body_hash=query.body_hash, named=query.named)
        body = wire.Challenge(challenge=offer.text, did=str(did), expires_at=printed(offer.expires_at))
        return Answer(200, body, headers=[NO_STORE])

    async def issue_token(self, request: Request) -> Answer:
        issued = await self.issue(request.body, request.context)
        token, seconds = issued.token, issued.token.expires_at - issued.token.issued_at
        body = wire.TokenAnswer(
            access_token=issued.text,
            token_type="Bearer",  # noqa: S106 - RFC 6749 §5.1
            expires_in=int(seconds.total_seconds()),
            scope=UNSET if token.scopes is None else scope_text(token.scopes),
        )
        return Answer(200, body, headers=[NO_STORE])

    async def get_jwks(self, request: Request) -> Answer:
        return Answer(200, await self.jwks(), headers=[("Cache-Control", "public, max-age=300")])


def _check_hash(text: str) -> None:
    try:
        digest = multibase.base64url_decode(text)
    except ValueError as error:
        raise InvalidRequest("bodyHash is not base64url without padding.") from error
    if len(digest) != 32:
        raise InvalidRequest("bodyHash is not a SHA-256.")
