"""Calls of operations in process, as a caller who was authenticated before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

import orjson

from identity_codec.structs import encode
from identity_core.api.request import NOTHING, Request
from identity_core.api.transport import Message, Run
from identity_core.domain.callers import Caller


async def call_operation(
    run: Run,
    outer: Request,
    caller: Caller | None,
    body: Any = None,
    *,
    path: Mapping[str, str] = NOTHING,
    query: Mapping[str, Any] = NOTHING,
) -> Any:
    """Return the JSON that the operation answers to ``caller`` within the request ``outer``; None is an unauthenticated
    client at its address. Raises ``IdentityError``."""
    data = b"" if body is None else orjson.dumps(body)
    headers = {name: outer.headers[name] for name in ("x-forwarded-for",) if name in outer.headers}
    if body is not None:
        headers |= {"content-type": "application/json", "content-length": str(len(data))}
    request = Request(
        request_id=outer.request_id,
        method="GET" if body is None else "POST",
        client_address=outer.client_address,
        headers=headers,
        arrived=outer.arrived,
        path=dict(path),
        caller=caller,
    )

    async def receive() -> Message:
        return {"type": "http.request", "body": data, "more_body": False}

    text = urlencode({name: value for name, value in query.items() if value is not None})
    answer = await run(request, {"query_string": text.encode("ascii")}, receive)
    return orjson.loads(answer.body if isinstance(answer.body, bytes) else encode(answer.body))
