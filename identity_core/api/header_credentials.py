"""Which credential the header fields of a request carry, in whichever of their forms. Nothing is looked up or checked here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from identity_core.api.request import Request
from identity_core.domain.dids.evidence import DID_AUTH, RECOVERY_KEY
from identity_core.errors import AuthAmbiguous, AuthFailed
from identity_core.values import value_class

API_KEY: Final = "ApiKey"
BEARER: Final = "Bearer"
SCHEMES: Final = {scheme.lower(): scheme for scheme in (API_KEY, BEARER, DID_AUTH, RECOVERY_KEY)}


@value_class
class HeaderCredential:
    """A scheme of ``SCHEMES`` and its value."""

    scheme: str
    value: str


def credential_of(request: Request) -> HeaderCredential | None:
    """The one credential of the request. Raises ``AuthAmbiguous`` for two different ones, ``AuthFailed`` for a header that
    is none. An API key may come twice, in two forms, when it is the same key."""
    headers = request.headers
    if "authorization" not in headers and "x-api-key" not in headers:
        return None
    found = [HeaderCredential(API_KEY, value.strip()) for value in request.all_headers("x-api-key")]
    for value in request.all_headers("authorization"):
        scheme, _, rest = value.strip().partition(" ")
        known = SCHEMES.get(scheme.lower())
        if known is None or not rest.strip():
            raise AuthFailed("The Authorization header names no known scheme, or carries nothing.")
        found.append(HeaderCredential(known, rest.strip()))
    credential = found[0] if len(found) == 1 else _one_of(found)
    if not credential.value:
        raise AuthFailed
    return credential


def _one_of(found: Sequence[HeaderCredential]) -> HeaderCredential:
    schemes = {credential.scheme for credential in found}
    if len({credential.value for credential in found}) > 1 or (len(schemes) > 1 and schemes != {API_KEY, BEARER}):
        raise AuthAmbiguous
    return found[0] if len(schemes) == 1 else HeaderCredential(API_KEY, found[0].value)
