"""The handlers of the tag ``auth``."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.api.request import Answer, Request
from identity_core.codec import multibase
from identity_core.domain.challenge import PURPOSES
from identity_core.domain.errors import InvalidRequest
from identity_core.domain.times import printed
from identity_core.use_cases.auth.get_challenge import GetDidAuthChallenge
from identity_core.use_cases.dids.reader import DidReader


@dataclass(frozen=True, slots=True)
class AuthHandlers:
    """getDidAuthChallenge."""

    reader: DidReader
    challenge: GetDidAuthChallenge

    async def get_did_auth_challenge(self, request: Request) -> Answer:
        did = self.reader.parse(request.query["did"])
        purpose = request.query.get("purpose")
        if purpose is not None and purpose not in PURPOSES:
            raise InvalidRequest("The purpose is unknown.", details={"supported": [*sorted(PURPOSES)]})
        body_hash = request.query.get("bodyHash")
        if body_hash is not None:
            _check_hash(body_hash)
        offer = await self.challenge(did, purpose=purpose, body_hash=body_hash)
        body = {"challenge": offer.text, "did": str(did), "expiresAt": printed(offer.expires_at)}
        return Answer(200, body, headers=[("Cache-Control", "no-store")])


def _check_hash(text: str) -> None:
    try:
        digest = multibase.base64url_decode(text)
    except ValueError as error:
        raise InvalidRequest("bodyHash is not base64url without padding.") from error
    if len(digest) != 32:
        raise InvalidRequest("bodyHash is not a SHA-256.")
