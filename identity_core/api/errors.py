"""The one shape of an error body, ``{"error": {"code", "message", "details"}}`` with ``details.requestId`` in each, and content negotiation
(RFC 9110 §12.5.1). An operation that follows another standard has the members of that one beside ``error``.

Parameters of ``Accept`` other than ``q`` are ignored, since no media type of ours has any. So is an ``Accept`` that is longer than any
that somebody needs, as a server may.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from identity_core import wire
from identity_core.api.request import Answer, Operation
from identity_core.api.resolution_problems import problem, registration_error
from identity_core.codec.structs import UNSET
from identity_core.domain.tokens import is_scope
from identity_core.errors import (
    CODES,
    AuthFailed,
    IdentityError,
    InternalError,
    InvalidRequest,
    JsonValue,
    NotAcceptable,
)
from identity_core.use_cases.auth.authorization import GrantRefused
from identity_core.use_cases.wallets.collect import WalletRefused

OAUTH_ERROR: Final = "OauthError"
"""The ``error_schema`` of RFC 6749 §5.2."""
WALLET_ERROR: Final = "WalletError"
"""The ``error_schema`` of OpenID4VCI 1.0 §8.3.1 and OpenID4VP 1.0 §8.2."""

_OAUTH_ERRORS: Final = {
    "AUTH_FAILED": "invalid_client",
    "AUTH_REQUIRED": "invalid_client",
    "FORBIDDEN": "unauthorized_client",
}
_NOT_IN_A_DESCRIPTION: Final = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")

# RFC 9110 §11.6.1 asks every 401 for a challenge, also that of an operation which takes strangers.
ANY_CHALLENGE: Final = 'ApiKey realm="identity", Bearer realm="identity", DIDAuth realm="identity"'

GUIDE_PACKAGE: Final = "identity_guide"
GUIDE: Final = "/docs/guide"


@cache
def guide_folder() -> Path | None:
    """The folder of the installed site; None where there is none, or where its distribution was made without it."""
    spec = find_spec(GUIDE_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "site"
    return folder if (folder / "index.html").is_file() else None


def explanation_of(code: str) -> str | None:
    """Where the guide explains an error code, relative to the origin of the service; None where no guide is served."""
    if guide_folder() is None:
        return None
    return f"{GUIDE}/reference/errors.html#{code.lower().replace('_', '-')}"


class TokenRequestRefused(InvalidRequest):
    """A request for a token that OAuth has a word of its own for, ``kind``: such as ``invalid_scope``."""

    def __init__(self, kind: str, message: str, details: Mapping[str, JsonValue]) -> None:
        super().__init__(message, details=details)
        self.kind = kind


_NAMED: Final = (TokenRequestRefused, WalletRefused, GrantRefused)


def error_answer(
    error: IdentityError, request_id: str, operation: Operation | None = None, *, has_bearer: bool = False
) -> Answer:
    """The answer for ``error``.

    401 carries the challenges of the operation, and where the request ``has_bearer`` they say that it is no good; so does a 403 for a
    scope that it lacks (RFC 6750 §3.1); 405 an ``Allow`` from ``details.allow``; an error with
    ``details.retryAfter`` (seconds), and every 429 and 503, a ``Retry-After`` in whole seconds, rounded up.
    """
    if error.code not in CODES:
        # A code that the document does not know is a fault of ours and must not become an answer of its own.
        error = InternalError()
    status = error.status
    details: dict[str, JsonValue] = {**error.details, "requestId": request_id}
    if explanation := explanation_of(error.code):
        details.setdefault("docUrl", explanation)
    headers = [("cache-control", "no-store")]
    bearer = operation.bearer if operation is not None and has_bearer else ""
    if status == 401:
        challenge = (operation.challenge if operation else "") or ANY_CHALLENGE
        if bearer and error.code == "AUTH_FAILED":
            challenge = challenge.replace(bearer, f'{bearer}, error="invalid_token"')
        headers.append(("www-authenticate", challenge))
    elif error.code == "FORBIDDEN" and bearer and is_scope(str(details.get("scope", ""))):
        wanted = f'{bearer}, error="insufficient_scope", scope="{details["scope"]}"'
        headers.append(("www-authenticate", wanted))
    elif status == 405:
        headers.append(("allow", ", ".join(str(method) for method in _array(details.get("allow")))))
    retry_after = details.get("retryAfter", 1 if status in (429, 503) else None)
    if isinstance(retry_after, (int, float)):
        headers.append(("retry-after", str(max(1, math.ceil(retry_after)))))
    body = wire.ErrorBody(code=error.code, message=str(error), details=details)
    if operation is not None and operation.error_schema == "RefusedIdentifier":
        return Answer(status, _refused_identifier(body, str(error)), "application/did-resolution", headers)
    if operation is not None and operation.error_schema == "RefusedRegistration":
        return Answer(status, _refused_registration(body, str(error), request_id), headers=headers)
    if operation is not None and operation.error_schema == OAUTH_ERROR:
        return _oauth_error(error, details, [*headers, ("pragma", "no-cache")])
    if operation is not None and operation.error_schema == WALLET_ERROR:
        return _wallet_error(error, details, headers)
    return Answer(status, wire.ErrorResponse(error=body), headers=headers)


def early_operation(shapes: Mapping[bytes, Operation], target: bytes) -> Operation | None:
    """Return the operation that decides the form of a refusal that comes before the operation is known. ``shapes`` has operations with a
    form of their own, by what their raw paths begin with."""
    return next((one for at, one in shapes.items() if target.startswith(at)), None)


def _wallet_error(error: IdentityError, details: dict[str, JsonValue], headers: Sequence[tuple[str, str]]) -> Answer:
    """A refusal of the resource, where a bad token is one (RFC 6750 §3.1), with our code and details beside it."""
    other = "invalid_token" if error.status == 401 else "server_error" if error.status >= 500 else "invalid_request"
    return Answer(error.status, _oauth_body(error, other, details), headers=headers)


def _oauth_error(error: IdentityError, details: dict[str, JsonValue], headers: Sequence[tuple[str, str]]) -> Answer:
    """RFC 6749 §5.2, with our code and details beside it. A client whose assertion failed used no header, so it gets 400."""
    status = 400 if isinstance(error, AuthFailed) else error.status
    other = (
        "temporarily_unavailable" if status in (429, 503) else "server_error" if status >= 500 else "invalid_request"
    )
    body = _oauth_body(error, _OAUTH_ERRORS.get(error.code, other), details)
    shown = [header for header in headers if status == 401 or header[0] != "www-authenticate"]
    return Answer(status, body, headers=shown)


def _oauth_body(error: IdentityError, other: str, details: dict[str, JsonValue]) -> dict[str, JsonValue]:
    """The members of RFC 6749 §5.2; ``other`` is the kind of an error that names none itself."""
    kind = error.kind if isinstance(error, _NAMED) else other
    said = _NOT_IN_A_DESCRIPTION.sub("'", str(error))
    return {"error": kind, "error_description": said, "code": error.code, "details": details}


def _refused_identifier(error: wire.ErrorBody, message: str) -> wire.RefusedIdentifier:
    """The results of DID Resolution and of dereferencing at once: a refusal does not know which of them was asked for."""
    found = problem(str(error.code), message)
    shown = wire.ResolutionProblem(type=found.type, title=found.title, detail=found.detail)
    return wire.RefusedIdentifier(
        error=error,
        did_document=None,
        did_document_metadata={},
        did_resolution_metadata=wire.ProblemMetadata(error=shown),
        content=None,
        content_stream=None,
        content_metadata={},
        dereferencing_metadata=wire.ProblemMetadata(error=shown),
    )


def _refused_registration(error: wire.ErrorBody, message: str, request_id: str) -> wire.RefusedRegistration:
    """A state of DID Registration that has failed (https://identity.foundation/did-registration/#didstatefailed)."""
    return wire.RefusedRegistration(
        error=error,
        job_id=None,
        did_state=wire.FailedDidState(
            state="failed", error=registration_error(str(error.code)) or UNSET, reason=message
        ),
        did_registration_metadata=wire.RefusalMetadata(code=str(error.code), request_id=request_id),
        did_document_metadata={},
    )


def _array(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


MAX_LENGTH: Final = 4_096

_RANGE = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*((?:;.*)?)", re.DOTALL)
_QUALITY = re.compile(r"[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def negotiate(accept: str | None, offered: tuple[str, ...]) -> str:
    """The media type of ``offered`` that ``accept`` prefers; among equals the first of ``offered``.

    Raises ``NotAcceptable`` with the offered types in its details.
    """
    if not accept or accept == "*/*" or len(accept) > MAX_LENGTH:
        return offered[0]
    chosen = _choose(accept, offered) if len(accept) <= 256 else _choose.__wrapped__(accept, offered)
    if chosen is None:
        raise NotAcceptable(details={"offered": list(offered)})
    return chosen


@lru_cache(maxsize=512)
def _choose(accept: str, offered: tuple[str, ...]) -> str | None:
    ranges = dict(_ranges(accept))
    best, chosen = 0.0, None
    for media in offered:
        kind = media.partition("/")[0]
        # The most specific range decides, even when it is the one that says no.
        quality = next((ranges[name] for name in (media, f"{kind}/*", "*/*") if name in ranges), 0.0)
        if quality > best:
            best, chosen = quality, media
    return chosen


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """(media range, quality); what is no media range is passed over."""
    for part in accept.split(","):
        found = _RANGE.fullmatch(part)
        if found is None:
            continue
        quality = 1.0
        for parameter in found[2].split(";")[1:]:
            stated = _QUALITY.fullmatch(parameter.strip())
            if stated is not None:
                quality = float(stated[1])
        yield found[1].lower(), quality
