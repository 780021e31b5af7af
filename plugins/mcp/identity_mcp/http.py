"""The MCP server as an ASGI application, for a service that has admitted the agent: Streamable HTTP, with one JSON answer a request.

Nothing is kept between requests, so any process of the service answers any of them; revisions before 2026-07-28 are served without
sessions. What a message must be is checked here, before the SDK reads it: its own refusals differ by revision, and some of them name its
internals or have no media type.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator
from typing import Any, Final

from mcp.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.types import INVALID_PARAMS, INVALID_REQUEST
from msgspec import Struct
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from identity_mcp.server import AgentServer, Context, make_server
from identity_mcp.service import Service

SERVICE = "identity.service"
"""Where the scope of a request has the ``Service`` of its agent."""

MEDIA_TYPE: Final = "application/json"
_CONTENT_TYPE: Final = b"content-type"


@contextlib.asynccontextmanager
async def open_application(server: Server[Any] | None = None) -> AsyncIterator[ASGIApp]:
    """Yield the application that serves ``server``, by default the tools. Each scope that it gets has a ``SERVICE``."""
    served = make_server(AgentServer(service_of)) if server is None else server
    manager = StreamableHTTPSessionManager(served, json_response=True, stateless=True)
    async with manager.run():
        yield CheckedMessages(manager.handle_request)


def service_of(context: Context) -> Service:
    """Return the service of the agent that a request is from."""
    request: Any = context.request
    service: Service = request.scope[SERVICE]
    return service


def refusal(message: object) -> tuple[int, str] | None:
    """Return code and message of the error that answers ``message``, None for a message of MCP (JSON-RPC 2.0 §4, without batches).

    An identifier is text or an integer: null and fractions are invalid (MCP, "Messages")."""
    if isinstance(message, list):
        return INVALID_REQUEST, "A batch is refused: send one message in each request."
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return INVALID_REQUEST, 'The body is not a message of JSON-RPC 2.0: send an object with "jsonrpc": "2.0".'
    if "id" in message and type(message["id"]) not in (int, str):
        return INVALID_REQUEST, "id must be text or an integer."
    if "method" not in message:
        is_response = "id" in message and ("result" in message) != ("error" in message)
        return None if is_response else (INVALID_REQUEST, "method is missing.")
    if not isinstance(message["method"], str):
        return INVALID_REQUEST, "method must be text."
    if not isinstance(message.get("params", {}), dict):
        return INVALID_PARAMS, "params must be an object."
    return None


class CheckedMessages(Struct, frozen=True):
    """The application ``inner`` behind the check of each message. Every error is a JSON document."""

    inner: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one POST."""
        headers = [(name.lower(), value) for name, value in scope["headers"]]
        media_type = dict(headers).get(_CONTENT_TYPE, b"").partition(b";")[0].strip().lower()
        if media_type != MEDIA_TYPE.encode():
            text = f"Content-Type must be {MEDIA_TYPE}."
            await _error(INVALID_REQUEST, text, 415)(scope, receive, send)
            return
        body = await _body(receive)
        message = json.loads(body)
        refused = refusal(message)
        if refused is not None:
            answer = _error(*refused, 400, message.get("id") if isinstance(message, dict) else None)
            await answer(scope, receive, send)
            return
        # Parameters of the media type are no concern of the SDK, which compares the text.
        others = [(name, value) for name, value in headers if name != _CONTENT_TYPE]
        checked = {**scope, "headers": [(_CONTENT_TYPE, MEDIA_TYPE.encode()), *others]}
        messages = [{"type": "http.request", "body": body, "more_body": False}]

        async def once_more() -> Message:
            return messages.pop() if messages else await receive()

        held = _HeldAnswer(send)
        await self.inner(checked, once_more, held)
        await held.finish(scope, receive)


class _HeldAnswer(Struct):
    """The SDK's answer. One with a status of an error and without JSON is replaced by an error in JSON."""

    send: Send
    _replaced: int = 0
    _text: bytes = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] >= 400:
            media_type = dict(message["headers"]).get(_CONTENT_TYPE, b"")
            self._replaced = 0 if media_type.startswith(MEDIA_TYPE.encode()) else message["status"]
        elif message.get("status") == 202:
            # Accepted without content, which has no media type (RFC 9110 §8.3).
            message = {**message, "headers": [one for one in message["headers"] if one[0] != _CONTENT_TYPE]}
        if self._replaced:
            self._text += message.get("body", b"")
        else:
            await self.send(message)

    async def finish(self, scope: Scope, receive: Receive) -> None:
        """Send the replacement, where one is due."""
        if self._replaced:
            text = self._text.decode("utf-8", "replace") or "The request is refused."
            await _error(INVALID_REQUEST, text, self._replaced)(scope, receive, self.send)


def _error(code: int, text: str, status: int, identifier: object = None) -> JSONResponse:
    known = identifier if type(identifier) in (int, str) else None
    return JSONResponse({"jsonrpc": "2.0", "id": known, "error": {"code": code, "message": text}}, status)


async def _body(receive: Receive) -> bytes:
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)
