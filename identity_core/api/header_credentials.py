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
    """A scheme of ``SCHEMES`` and its value. ``beside``: the API key that a gateway added to a signature."""

    scheme: str
    value: str
    beside: str = ""


def credential_of(request: Request) -> HeaderCredential | None:
    """Return the credential of the request. An API key may come in several forms, and beside a signature.

    Raises ``AuthAmbiguous``: for two different credentials of one kind. Raises ``AuthFailed``: for a malformed header."""
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
    values: dict[str, set[str]] = {}
    for credential in found:
        values.setdefault(credential.scheme, set()).add(credential.value)
    keys = values.pop(API_KEY, set())
    if values.keys() == {BEARER} and values[BEARER] == keys:
        # The three forms of an API key are one.
        return HeaderCredential(API_KEY, *keys)
    if (
        len(keys) > 1
        or len(values) > 1
        or (keys and BEARER in values)
        or any(len(each) > 1 for each in values.values())
    ):
        raise AuthAmbiguous
    for scheme, (value,) in values.items():
        return HeaderCredential(scheme, value, *keys)
    return HeaderCredential(API_KEY, *keys)
