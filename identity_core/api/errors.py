"""Error bodies ``{"error": {"code", "message", "details"}}`` with ``details.requestId`` in each, and content
negotiation (RFC 9110 §12.5.1). An operation that follows another standard has the members of that standard beside
``error``.

Parameters of ``Accept`` other than ``q`` are ignored, because the media types of this service have none. An
``Accept`` header that is too long for any real client is ignored too, as a server may.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from identity_codec.strict_json import JsonValue
from identity_core import wire
from identity_core.api.request import Answer, Operation
from identity_core.domain.callers import is_scope
from identity_core.errors import CODES, IdentityError, InternalError, NotAcceptable

# RFC 9110 §11.6.1 requires a challenge with every 401, also for an operation that admits unauthenticated clients.
ANY_CHALLENGE: Final = 'ApiKey realm="identity", Bearer realm="identity", DIDAuth realm="identity"'

GUIDE_PACKAGE: Final = "identity_guide"
GUIDE: Final = "/docs/guide"


@cache
def guide_folder() -> Path | None:
    """Return the folder of the installed site; None without one, or if its distribution was built without it."""
    spec = find_spec(GUIDE_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        return None
    folder = Path(next(iter(spec.submodule_search_locations))) / "site"
    return folder if (folder / "index.html").is_file() else None


def explanation_of(code: str) -> str | None:
    """Return the path of the guide's page about an error code, relative to the origin of the service; None if no
    guide is served."""
    if guide_folder() is None:
        return None
    return f"{GUIDE}/reference/errors.html#{code.lower().replace('_', '-')}"


def error_answer(
    error: IdentityError, request_id: str, operation: Operation | None = None, *, has_bearer: bool = False
) -> Answer:
    """Return the answer for ``error``.

    A 401 has the challenges of the operation. If the request ``has_bearer``, they state that the token is invalid. A
    403 for a missing scope has them, too (RFC 6750 §3.1). A 405 has an ``Allow`` from ``details.allow``. An error
    with ``details.retryAfter`` (seconds), and every 429 and 503, has a ``Retry-After`` in whole seconds, rounded up.
    The ``shape`` of the operation makes the rest.
    """
    if error.code not in CODES:
        # A code that the document does not have is a fault of this service and must not become a public code.
        error = InternalError()
    status = error.status
    details: dict[str, JsonValue] = {**error.answer_details(), "requestId": request_id}
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
    if operation is not None and operation.shape is not None:
        return operation.shape(error, details, headers)
    body = wire.ErrorBody(code=error.code, message=str(error), details=details)
    return Answer(status, wire.ErrorResponse(error=body), headers=headers)


def early_operation(shapes: Mapping[bytes, Operation], target: bytes) -> Operation | None:
    """Return the operation that decides the form of a refusal before the operation is known.

    ``shapes``: operations with their own form, by the start of their raw paths.
    """
    return next((one for at, one in shapes.items() if target.startswith(at)), None)


def _array(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []


MAX_LENGTH: Final = 4_096

_RANGE = re.compile(r"\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+/[!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*((?:;.*)?)", re.DOTALL)
_QUALITY = re.compile(r"[qQ]=(0(?:\.[0-9]{0,3})?|1(?:\.0{0,3})?)")


def negotiate(accept: str | None, offered: tuple[str, ...]) -> str:
    """Return the media type of ``offered`` that ``accept`` prefers; among equals the first of ``offered``.

    Raises ``NotAcceptable``: with the offered types in its details.
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
        # The most specific range decides, even if it refuses the type.
        quality = next((ranges[name] for name in (media, f"{kind}/*", "*/*") if name in ranges), 0.0)
        if quality > best:
            best, chosen = quality, media
    return chosen


def _ranges(accept: str) -> Iterator[tuple[str, float]]:
    """Yield (media range, quality). A malformed media range is skipped."""
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
