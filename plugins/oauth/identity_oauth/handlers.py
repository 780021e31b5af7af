"""The handlers of this extension's operations of the tag ``auth``. An answer that carries a token may not be cached."""

from __future__ import annotations

from msgspec import Struct

from identity_core.api.request import Answer, Request
from identity_oauth.token_endpoint import token_answer
from identity_oauth.use_cases.token_keys import GetJwks
from identity_oauth.use_cases.tokens import IssueToken


class TokenHandlers(Struct, frozen=True):
    """issueToken, getJwks."""

    issue: IssueToken
    jwks: GetJwks

    async def issue_token(self, request: Request) -> Answer:
        return token_answer(await self.issue(request.body, request.context))

    async def get_jwks(self, request: Request) -> Answer:
        return Answer(200, await self.jwks(), headers=[("Cache-Control", "public, max-age=300")])
