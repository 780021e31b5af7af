"""Octets in, octets out: reading a body under a cap and a deadline, sending an answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from identity_core.api.request import Answer, Parts, Request
from identity_core.codec.structs import encode
from identity_core.errors import InvalidRequest, PayloadTooLarge

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class ClientGone(Exception):
    """The client closed the connection before its request was complete; there is no one to answer."""


async def read_body(request: Request, receive: Receive, *, cap: int, seconds: float) -> bytes:
    """The whole body. Raises ``PayloadTooLarge`` past ``cap`` octets, ``InvalidRequest`` when it is not complete after
    ``seconds``, ``ClientGone``."""
    declared = request.header("content-length")
    if declared is not None and int(declared) > cap:
        raise PayloadTooLarge(details={"maxBytes": cap})
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, cap)
    except TimeoutError:
        # The rest of the body may still come: the connection cannot carry another request.
        request.answer_headers = (*request.answer_headers, ("connection", "close"))
        raise InvalidRequest("The body did not arrive in time.", details={"seconds": seconds}) from None


async def _read(receive: Receive, cap: int) -> bytes:
    message = await receive()
    if message["type"] == "http.disconnect":
        raise ClientGone
    body: bytes = message.get("body", b"")
    if not message.get("more_body", False):
        if len(body) > cap:
            raise PayloadTooLarge(details={"maxBytes": cap})
        return body
    parts, size = [body], len(body)
    while message.get("more_body", False):
        if size > cap:
            raise PayloadTooLarge(details={"maxBytes": cap})
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
    if size > cap:
        raise PayloadTooLarge(details={"maxBytes": cap})
    return b"".join(parts)


async def deliver(answer: Answer, request: Request, send: Send) -> None:
    """Sends ``answer`` with the request's id and the headers that the gate has set; without its body for HEAD."""
    body = answer.body
    if type(body) is Parts:
        await _deliver_parts(answer, body, request, send)
        return
    if type(body) is not bytes:
        body = b"" if body is None else encode(body)
    headers = _headers(answer, request)
    if answer.status == 304 or answer.status == 204:
        body = b""
    else:
        headers.append((b"content-length", b"%d" % len(body)))
    request.status = answer.status
    try:
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": b"" if request.method == "HEAD" else body})
    except OSError as error:
        raise ClientGone from error


async def _deliver_parts(answer: Answer, body: Parts, request: Request, send: Send) -> None:
    """The next part is made when the client has read most of those before it. Raises ``ClientGone``, and what making a part
    raises: the head has gone out by then, and the connection breaks."""
    headers = [*_headers(answer, request), (b"content-length", b"%d" % body.octets)]
    request.status = answer.status
    await _send(send, {"type": "http.response.start", "status": answer.status, "headers": headers})
    if request.method != "HEAD":
        async for part in body.parts:
            await _send(send, {"type": "http.response.body", "body": part, "more_body": True})
    await _send(send, {"type": "http.response.body", "body": b""})


async def _send(send: Send, message: Message) -> None:
    try:
        await send(message)
    except OSError as error:
        raise ClientGone from error


def _headers(answer: Answer, request: Request) -> list[tuple[bytes, bytes]]:
    headers = [*answer.encoded_headers(), (b"x-request-id", request.request_id.encode("ascii"))]
    for name, value in request.answer_headers:
        headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
    return headers
