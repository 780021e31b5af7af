"""Refusals in the shape of OAuth (RFC 6749 §5.2), and in that of wallets (OpenID4VCI 1.0 §8.3.1, OpenID4VP 1.0 §8.2)."""

from __future__ import annotations

import re
from typing import Final

from identity_codec.strict_json import JsonValue
from identity_core.api.request import Answer, Headers
from identity_core.errors import AuthFailed, IdentityError
from identity_oauth.domain.tokens import OauthRefusal

_KINDS: Final = {"AUTH_FAILED": "invalid_client", "AUTH_REQUIRED": "invalid_client", "FORBIDDEN": "unauthorized_client"}
_NOT_IN_A_DESCRIPTION: Final = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")


def oauth_error(error: IdentityError, details: dict[str, JsonValue], headers: Headers) -> Answer:
    """Return a refusal of the token endpoint, with this service's code and details beside it.

    A client whose assertion failed used no header, so it gets 400.
    """
    status = 400 if isinstance(error, AuthFailed) else error.status
    code = "temporarily_unavailable" if status in (429, 503) else "server_error" if status >= 500 else "invalid_request"
    body = _body(error, _KINDS.get(error.code, code), details)
    shown = [header for header in headers if status == 401 or header[0] != "www-authenticate"]
    return Answer(status, body, headers=[*shown, ("pragma", "no-cache")])


def wallet_error(error: IdentityError, details: dict[str, JsonValue], headers: Headers) -> Answer:
    """Return a refusal of the resource, which includes an invalid token (RFC 6750 §3.1), with this service's code and details
    beside it."""
    other = "invalid_token" if error.status == 401 else "server_error" if error.status >= 500 else "invalid_request"
    return Answer(error.status, _body(error, other, details), headers=headers)


def _body(error: IdentityError, other: str, details: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """Return the members of RFC 6749 §5.2; ``other`` is the kind of an error that names none itself."""
    kind = error.kind if isinstance(error, OauthRefusal) else other
    described = _NOT_IN_A_DESCRIPTION.sub("'", str(error))
    return {"error": kind, "error_description": described, "code": error.code, "details": details}
