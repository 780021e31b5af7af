"""Calls of operations in process: a page shows what the handler answers to the signed-in caller, and so nothing that the same caller
could not request over HTTP."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

import orjson
from msgspec import structs

from identity_codec.structs import encode
from identity_core.api.request import NOTHING, Handler, Request
from identity_core.domain.callers import Caller

JSON_ALONE = {"accept": "application/json"}
PAGES: Final = 20
"""How many pages of a list are read for items that the list cannot select."""


async def ask(handler: Handler, request: Request, **given: Any) -> Mapping[str, Any]:
    """Return the JSON that ``handler`` answers, with the names of the document; ``given`` are members of ``Request``. The name of the
    method is that of the operation.

    ``request`` is the page's, for its id. Raises what the handler raises; a deactivated DID is an answer, with ``error``.
    """
    found = await answer_bytes(handler, request, headers=JSON_ALONE, **given)
    return cast("Mapping[str, Any]", orjson.loads(found))


async def ask_until(
    handler: Handler, request: Request, query: Any, caller: Caller, accept: Callable[[Any], bool], most: int
) -> tuple[list[dict[str, Any]], str | None]:
    """Return what ``accept`` takes of a list, and the cursor of the rest: pages are read until ``most`` items are found, or ``PAGES``."""
    found = list[dict[str, Any]]()
    for _ in range(PAGES):
        listed = await ask(handler, request, query=query, caller=caller)
        found += filter(accept, listed["items"])
        query = structs.replace(query, cursor=listed["nextCursor"])
        if query.cursor is None or len(found) >= most:
            break
    return found, query.cursor


async def answer_bytes(
    handler: Handler, request: Request, *, headers: Mapping[str, str] = NOTHING, **given: Any
) -> bytes:
    """Return the bytes of what ``handler`` answers; ``given`` as ``ask`` takes it."""
    first, *others = handler.__name__.split("_")
    operation_id = first + "".join(map(str.capitalize, others))
    answer = await handler(Request(request_id=request.request_id, headers=headers, operation_id=operation_id, **given))
    return answer.body if isinstance(answer.body, bytes) else encode(answer.body)
