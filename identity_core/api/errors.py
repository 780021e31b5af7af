"""The one shape of an error body, ``{"error": {"code", "message", "details"}}`` with ``details.requestId`` in each, and content negotiation
(RFC 9110 §12.5.1). An operation that follows another standard has the members of that one beside ``error``.

Parameters of ``Accept`` other than ``q`` are ignored, since no media type of ours has any. So is an ``Accept`` that is longer than any
that somebody needs, as a server may.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from identity_core import wire
from identity_core.api.request import Answer, Operation
from identity_core.api.resolution_problems import problem, registration_error
from identity_core.codec.structs import UNSET
from identity_core.errors import CODES, IdentityError, InternalError, JsonValue, NotAcceptable

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


def error_answer(error: IdentityError, request_id: str, operation: Operation | None = None) -> Answer:
    """The answer for ``error``.

    401 carries the challenges of the operation; 405 an ``Allow`` from ``details.allow``; an error with
    ``details.retryAfter`` (seconds), and every 429 and 503, a ``Retry-After`` in whole seconds, rounded up.
    """
    if error.code not in CODES:
        # A code that the document does not know is a fault of ours and must not become an answer of its own.
        error = InternalError()
    status = error.status
    details: dict[str, JsonValue] = {**error.details, "requestId": request_id}
    if explanation := explanation_of(error.code):
        details["docUrl"] = explanation
    headers = [("cache-control", "no-store")]
    if status == 401:
        headers.append(("www-authenticate", (operation.challenge if operation else "") or ANY_CHALLENGE))
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
    return Answer(status, wire.ErrorResponse(error=body), headers=headers)


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
