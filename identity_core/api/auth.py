"""The handlers of the tag ``auth``, and the parser of the credential in a request's header fields. It is not looked
up or verified here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from identity_client.challenge import DID_AUTH, RECOVERY_KEY
from identity_codec.times import printed
from identity_core import wire
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.errors import AuthAmbiguous, AuthFailed
from identity_core.throttle.policy import Network, bucket_address, client_address
from identity_core.use_cases.auth.challenge import GetDidAuthChallenge

API_KEY: Final = "ApiKey"
BEARER: Final = "Bearer"
SCHEMES: Final = {scheme.lower(): scheme for scheme in (API_KEY, BEARER, DID_AUTH, RECOVERY_KEY)}


class HeaderCredential(NamedTuple):
    """A scheme of ``SCHEMES`` and its value."""

    scheme: str
    value: str


def credential_of(request: Request) -> HeaderCredential | None:
    """Return the one credential of the request.

    An API key may come twice, in two forms, when it is the same key. ``X-API-Key`` beside a signature is ignored, because
    gateways add one to every request.

    Raises ``AuthAmbiguous``: for two different credentials. Raises ``AuthFailed``: for a malformed header field.
    """
    if request.headers.keys().isdisjoint(("authorization", "x-api-key")):
        return None
    keys = {HeaderCredential(API_KEY, value.strip()) for value in request.all_headers("x-api-key")}
    found = set[HeaderCredential]()
    for value in request.all_headers("authorization"):
        scheme, _, rest = value.strip().partition(" ")
        known = SCHEMES.get(scheme.lower())
        if known is None or not rest.strip():
            raise _malformed("the Authorization header has no known scheme, or no value")
        found.add(HeaderCredential(known, rest.strip()))
    schemes = {credential.scheme for credential in found}
    if len(keys) > 1 or not schemes or not schemes <= {DID_AUTH, RECOVERY_KEY}:
        found |= keys
    values = {credential.value for credential in found}
    if len(found) > 1 and (len(values) > 1 or schemes - {API_KEY} != {BEARER}):
        raise AuthAmbiguous
    credential = found.pop() if len(found) == 1 else HeaderCredential(API_KEY, values.pop())
    if not credential.value:
        raise _malformed("the X-API-Key header has no value")
    return credential


def _malformed(reason: str) -> AuthFailed:
    return AuthFailed(f"The credential cannot be read: {reason}.", details={"reason": reason})


class AuthHandlers(Struct, frozen=True):
    """Handler of getDidAuthChallenge."""

    challenge: GetDidAuthChallenge
    trusted_proxies: Sequence[Network] = ()

    async def get_did_auth_challenge(self, request: Request) -> Answer:
        address = client_address(request.client_address, request.header("x-forwarded-for"), self.trusted_proxies)
        offer = await self.challenge(request.query, bucket_address(address))
        body = wire.Challenge(challenge=offer.text, did=offer.did, expires_at=printed(offer.expires_at))
        return Answer(200, body, headers=[NO_STORE])
