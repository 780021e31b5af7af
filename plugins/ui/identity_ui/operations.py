"""Calls of operations in process: a page shows what the handler answers to the signed-in caller, and so nothing that the same caller
could not request over HTTP."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import orjson

from identity_codec.structs import encode
from identity_core.api.request import NOTHING, Handler, Request
from identity_core.domain.callers import Caller

JSON_ALONE = {"accept": "application/json"}


async def ask(
    handler: Handler,
    operation_id: str,
    request: Request,
    *,
    path: Mapping[str, str] = NOTHING,
    query: Any = NOTHING,
    body: Any = None,
    body_octets: bytes = b"",
    caller: Caller | None = None,
) -> Mapping[str, Any]:
    """The JSON of what ``handler`` answers, with the names of the document. ``request`` is the page's, for its id. Raises what the handler
    raises; a deactivated DID is an answer, with ``error``."""
    found = await answer_bytes(
        handler,
        operation_id,
        request,
        path=path,
        query=query,
        body=body,
        body_octets=body_octets,
        caller=caller,
        headers=JSON_ALONE,
    )
    return cast("Mapping[str, Any]", orjson.loads(found))


async def answer_bytes(
    handler: Handler, operation_id: str, request: Request, *, headers: Mapping[str, str] = NOTHING, **given: Any
) -> bytes:
    """Return the bytes of what ``handler`` answers; ``given`` as ``ask`` takes it."""
    answer = await handler(Request(request_id=request.request_id, headers=headers, operation_id=operation_id, **given))
    return answer.body if isinstance(answer.body, bytes) else encode(answer.body)
