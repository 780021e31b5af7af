"""The one table from code to HTTP status, and the one shape of an error body.

The specification, §Errors: ``{"error": {"code", "message", "details"}}``; contract.md §1 adds ``details.requestId``. No
other module of the project knows a status.
"""

from __future__ import annotations

import math
from typing import Final

from identity_core.api.request import Answer, Operation
from identity_core.domain.errors import IdentityError, InternalError, JsonValue

STATUS: Final = {
    "INVALID_REQUEST": 400,
    "INVALID_DID": 400,
    "AUTH_AMBIGUOUS": 400,
    "AUTH_REQUIRED": 401,
    "AUTH_FAILED": 401,
    "FORBIDDEN": 403,
    "NOT_FOUND": 404,
    "DID_NOT_FOUND": 404,
    "API_KEY_NOT_FOUND": 404,
    "METHOD_NOT_ALLOWED": 405,
    "NOT_ACCEPTABLE": 406,
    "DID_EXISTS": 409,
    "REQUEST_IN_PROGRESS": 409,
    "DID_DEACTIVATED": 410,
    "VERSION_CONFLICT": 412,
    "PAYLOAD_TOO_LARGE": 413,
    "UNSUPPORTED_MEDIA_TYPE": 415,
    "INVALID_DOCUMENT": 422,
    "CONFIRMATION_REQUIRED": 422,
    "IDEMPOTENCY_MISMATCH": 422,
    "PROOF_INVALID": 422,
    "PREDICATE_UNSUPPORTED": 422,
    "PREDICATE_NOT_SATISFIED": 422,
    "CREDENTIAL_NOT_FOUND": 404,
    "CREDENTIAL_REVOKED": 410,
    "CREDENTIAL_EXPIRED": 410,
    "DELEGATION_NOT_FOUND": 404,
    "DELEGATION_INVALID": 403,
    "DELEGATION_NOT_ACTIVE": 403,
    "DELEGATION_SUSPENDED": 403,
    "DELEGATION_EXHAUSTED": 403,
    "DELEGATION_EXPIRED": 410,
    "DELEGATION_REVOKED": 410,
    "DELEGATION_NOT_NARROWER": 422,
    "IBCT_INVALID": 403,
    "IBCT_REPLAYED": 403,
    "IBCT_EXPIRED": 410,
    "IBCT_REVOKED": 410,
    "SCOPE_MISMATCH": 403,
    "AUTONOMY_TOO_LOW": 403,
    "DISCLOSURE_LIMIT": 403,
    "CONFLICT": 409,
    "PROOF_NOT_FOUND": 404,
    "SCHEMA_NOT_FOUND": 404,
    "STATUS_LIST_NOT_FOUND": 404,
    "INVALID_SCHEMA": 422,
    "INVALID_CREDENTIAL": 422,
    "TRANSACTION_NOT_FOUND": 404,
    "BLOCK_NOT_FOUND": 404,
    "TILE_NOT_FOUND": 404,
    "LOG_RANGE_INVALID": 422,
    "RATE_LIMITED": 429,
    "QUOTA_EXCEEDED": 429,
    "HEADERS_TOO_LARGE": 431,
    "INTERNAL_ERROR": 500,
    "BLOCKCHAIN_ERROR": 500,
    "ANCHORING_DISABLED": 501,
    "OVERLOADED": 503,
    "DID_QUARANTINED": 503,
    "STORAGE_MISMATCH": 503,
    "PLUGIN_UNAVAILABLE": 503,
    "PLUGIN_TIMEOUT": 504,
}

# RFC 9110 §11.6.1 asks every 401 for a challenge, also that of an operation which takes strangers.
ANY_CHALLENGE: Final = 'ApiKey realm="identity", Bearer realm="identity", DIDAuth realm="identity"'


def error_answer(error: IdentityError, request_id: str, operation: Operation | None = None) -> Answer:
    """The answer for ``error``.

    401 carries the challenges of the operation; 405 an ``Allow`` from ``details.allow``; an error with
    ``details.retryAfter`` (seconds), and every 429 and 503, a ``Retry-After`` in whole seconds, rounded up.
    """
    status = STATUS.get(error.code)
    if status is None:
        # A code that the table does not know is a fault of ours and must not become an answer of its own.
        error, status = InternalError(), 500
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
