"""The handlers of the tag ``auth``. Answers that carry a challenge or a token are kept by nobody."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from identity_core.api import did_parse
from identity_core.api.request import Answer, Request
from identity_core.codec import multibase
from identity_core.domain import token
from identity_core.domain.challenge import PURPOSES
from identity_core.domain.times import printed
from identity_core.errors import InvalidRequest
from identity_core.use_cases.auth.get_challenge import GetDidAuthChallenge
from identity_core.use_cases.auth.issue_token import IssuedToken, IssueToken, TokenWish
from identity_core.use_cases.auth.token_keys import TokenKeys
from identity_core.use_cases.dids.reader import DidReader

GRANT: Final = "client_credentials"
NO_STORE: Final = ("Cache-Control", "no-store")


@dataclass(frozen=True, slots=True)
class AuthHandlers:
    """getDidAuthChallenge, issueToken, getJwks."""

    reader: DidReader
    challenge: GetDidAuthChallenge
    issue: IssueToken
    keys: TokenKeys

    async def get_did_auth_challenge(self, request: Request) -> Answer:
        did = self.reader.parse(request.query["did"])
        purpose = request.query.get("purpose")
        if purpose is not None and purpose not in PURPOSES:
            raise InvalidRequest("The purpose is unknown.", details={"supported": [*sorted(PURPOSES)]})
        body_hash = request.query.get("bodyHash")
        if body_hash is not None:
            _check_hash(body_hash)
        named = request.query.get("named", False)
        offer = await self.challenge(did, purpose=purpose, body_hash=body_hash, named=named)
        body = {"challenge": offer.text, "did": str(did), "expiresAt": printed(offer.expires_at)}
        return Answer(200, body, headers=[NO_STORE])

    async def issue_token(self, request: Request) -> Answer:
        issued = await self.issue(self._wish(request.body), did_parse.occasion(request))
        return Answer(200, _answered(issued), headers=[NO_STORE])

    async def get_jwks(self, request: Request) -> Answer:
        body = {"keys": [dict(key.jwk) for key in self.keys.known.values()]}
        return Answer(200, body, headers=[("Cache-Control", "public, max-age=300")])

    def _wish(self, body: Mapping[str, Any]) -> TokenWish:
        if body.get("grant_type", GRANT) != GRANT:
            raise InvalidRequest("The grant_type is unknown.", details={"supported": [GRANT]})
        subject = body.get("subject")
        try:
            scopes = token.parse_scopes(body["scope"]) if "scope" in body else None
        except ValueError as error:
            raise InvalidRequest(
                "scope is no list of scopes with single blanks.", details={"field": "scope"}
            ) from error
        return TokenWish(scopes, None if subject is None else self.reader.parse(subject))


def _answered(issued: IssuedToken) -> dict[str, Any]:
    """``TokenAnswer`` of the document (RFC 6749 §5.1)."""
    said = issued.token
    seconds = int((said.expires_at - said.issued_at).total_seconds())
    body: dict[str, Any] = {"access_token": issued.text, "token_type": "Bearer", "expires_in": seconds}
    if said.scopes is not None:
        body["scope"] = token.scope_text(said.scopes)
    return body


def _check_hash(text: str) -> None:
    try:
        digest = multibase.base64url_decode(text)
    except ValueError as error:
        raise InvalidRequest("bodyHash is not base64url without padding.") from error
    if len(digest) != 32:
        raise InvalidRequest("bodyHash is not a SHA-256.")
