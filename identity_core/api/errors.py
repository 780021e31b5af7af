"""The one shape of an error body: ``{"error": {"code", "message", "details"}}``, with ``details.requestId`` in each."""

from __future__ import annotations

import math
from typing import Final

from identity_core.api.request import Answer, Operation
from identity_core.errors import CODES, IdentityError, InternalError, JsonValue

# RFC 9110 §11.6.1 asks every 401 for a challenge, also that of an operation which takes strangers.
ANY_CHALLENGE: Final = 'ApiKey realm="identity", Bearer realm="identity", DIDAuth realm="identity"'


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
    headers = [("cache-control", "no-store")]
    if status == 401:
        headers.append(("www-authenticate", (operation.challenge if operation else "") or ANY_CHALLENGE))
    elif status == 405:
        headers.append(("allow", ", ".join(str(method) for method in _array(details.get("allow")))))
    retry_after = details.get("retryAfter", 1 if status in (429, 503) else None)
    if isinstance(retry_after, (int, float)):
        headers.append(("retry-after", str(max(1, math.ceil(retry_after)))))
    body: JsonValue = {"error": {"code": error.code, "message": str(error), "details": details}}
    return Answer(status, body, headers=headers)


def _array(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
