"""A request and its answer, as an ASGI application sees them (ASGI 3.0, HTTP connection scope 2.3).

The head of an answer goes out with the first part of its body, in one write. Every answer says how long it is, or has no body
(RFC 9112 §6.3): no coding of chunks is made here, and one that breaks its word ends the connection, because a client could take
what follows for the next answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT

from identity_core.api.transport import Message, Receive, Scope, Send

if TYPE_CHECKING:
    from identity_core.cli.http_connection import HttpConnection

Application = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTINUE: Final = b"HTTP/1.1 100 Continue\r\n\r\n"
STATUS_LINE: Final = {each.value: f"HTTP/1.1 {each.value} {each.phrase}\r\n".encode("ascii") for each in HTTPStatus}
WITHOUT_BODY: Final = (204, 304)
BROKEN: Final = b"Internal Server Error"
BROKEN_HEADERS: Final = (
    (b"content-type", b"text/plain; charset=utf-8"),
    (b"content-length", b"%d" % len(BROKEN)),
    (b"connection", b"close"),
)
# What a head may hold only at the ends of its lines; a tab is the one control character that a value may have (RFC 9110 §5.5).
CONTROLS: Final = bytes({*range(0x20), 0x7F} - {0x09})

log = logging.getLogger("uvicorn.error")


def split_target(target: bytes) -> tuple[bytes, bytes]:
    """The path and the query of a request's target (RFC 9112 §3.2). Raises ``httptools.HttpParserError``."""
    # All but hostile clients and proxies send the origin form, which needs no parser.
    if target[:1] == b"/" and b"#" not in target:
        path, _, query = target.partition(b"?")
        return path, query
    parsed = httptools.parse_url(target)
    if parsed.path is None:
        raise httptools.HttpParserInvalidURLError("the target has no path")
    return parsed.path, parsed.query or b""


class HttpExchange:
    """``scope`` is that of the request. ``keep_alive`` tells whether the connection goes on behind the answer. ``more_body`` is True until
    the whole request has come."""

    __slots__ = (
        "_carrier",
        "_event",
        "_has_news",
        "_head",
        "_parts",
        "_remaining",
        "_unread",
        "_wants_continue",
        "keep_alive",
        "more_body",
        "response_complete",
        "scope",
    )

    def __init__(self, carrier: HttpConnection, scope: Scope, *, keep_alive: bool, wants_continue: bool) -> None:
        self.scope = scope
        self.keep_alive = keep_alive
        self.more_body = True
        self.response_complete = False
        self._carrier = carrier
        self._wants_continue = wants_continue
        self._parts: list[bytes] = []
        self._unread = 0
        self._has_news = False
        self._event: asyncio.Event | None = None
        # What waits for the first part of the body; None until the answer has begun.
        self._head: bytes | None = None
        # Octets of the answer's body that are yet to come.
        self._remaining = 0

    # What the connection reports.
    def add(self, body: bytes) -> None:
        """A part of the body has come."""
        self._parts.append(body)
        self._unread += len(body)
        if self._unread > HIGH_WATER_LIMIT:
            self._carrier.flow.pause_reading()
        self.notify()

    def complete(self) -> None:
        """The last octet has come. A body of one part, as nearly all are, stands in the scope for who has not begun to receive it."""
        if len(self._parts) == 1:
            self.scope["identity.body"] = self._parts[0]
        self.end()

    def end(self) -> None:
        """The request is complete, or no more of it is taken."""
        self.more_body = False
        self.notify()

    def notify(self) -> None:
        """Wakes who waits in ``receive``."""
        self._has_news = True
        if self._event is not None:
            self._event.set()

    # What the application calls.
    async def receive(self) -> Message:
        """The next part of the body, or that the client has left or has its answer."""
        carrier = self._carrier
        if self._wants_continue and not carrier.transport.is_closing():
            self._wants_continue = False
            if self._head is None:
                carrier.transport.write(CONTINUE)
        if not carrier.is_lost and not self.response_complete:
            carrier.flow.resume_reading()
            if not self._has_news:
                # Nearly every request is complete before its application runs.
                self._event = asyncio.Event()
                await self._event.wait()
                self._event = None
            self._has_news = False
        if carrier.is_lost or self.response_complete:
            return {"type": "http.disconnect"}
        body = b"".join(self._parts)
        self._parts.clear()
        self._unread = 0
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: Message) -> None:
        """Waits while the client does not read. Raises ``RuntimeError`` for what is no answer."""
        carrier = self._carrier
        if carrier.flow.write_paused and not carrier.is_lost:
            await carrier.flow.drain()
        if carrier.is_lost:
            return
        if self.response_complete:
            raise RuntimeError("the answer is complete already")
        if self._head is None:
            self._head = self._begun(message)
            return
        if message["type"] != "http.response.body":
            raise RuntimeError(f"a part of the body was expected, not {message['type']}")
        body: bytes = message.get("body", b"")
        more = message.get("more_body", False)
        self._remaining -= len(body)
        if self._remaining < 0 or (self._remaining and not more):
            raise RuntimeError("the body is not as long as the answer says")
        octets = self._head + body if self._head else body
        if octets:
            carrier.transport.write(octets)
            self._head = b""
        if not more:
            self._complete()

    def _complete(self) -> None:
        self.response_complete = True
        self.notify()
        if not self.keep_alive:
            self._carrier.transport.close()
        self._carrier.answered()

    def answer(self, status: int, lines: bytes, count: int, body: bytes) -> None:
        """A whole answer at once, while nothing waits to be sent: ``count`` fields of the header as ``lines``, which say how long ``body``
        is. Raises ``RuntimeError``."""
        carrier = self._carrier
        if len(lines) - len(lines.translate(None, CONTROLS)) != 2 * count:
            raise RuntimeError("a header field holds a control character")
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        carrier.transport.write(b"".join((STATUS_LINE[status], carrier.default_lines(), lines, end, body)))
        self._head = b""
        self._complete()

    def _begun(self, message: Message) -> bytes:
        """The head of the answer. Raises ``RuntimeError``."""
        if message["type"] != "http.response.start":
            raise RuntimeError(f"the head of an answer was expected, not {message['type']}")
        status: int = message["status"]
        lines = []
        length = closes = None
        for name, value in message["headers"]:
            lines.append(b"%b: %b\r\n" % (name, value))
            if name == b"content-length":
                length = int(value)
            elif name == b"connection":
                closes = value.lower()
        if closes == b"close":
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        head = b"".join(lines)
        if len(head) - len(head.translate(None, CONTROLS)) != 2 * len(lines):
            raise RuntimeError("a header field holds a control character")
        if self.scope["method"] != "HEAD" and status not in WITHOUT_BODY:
            if length is None:
                raise RuntimeError("the answer does not say how long it is")
            self._remaining = length
        return b"".join((STATUS_LINE[status], self._carrier.default_lines(), head, b"\r\n"))

    async def run(self, application: Application) -> None:
        """Has ``application`` answer; what it raises is logged, and the connection ends."""
        try:
            await application(self.scope, self.receive, self.send)
        except BaseException as error:
            log.error("Exception in ASGI application\n", exc_info=error)
        else:
            if self.response_complete or self._carrier.is_lost:
                return
            log.error("ASGI callable returned without completing response.")
        await self._break_off()

    async def _break_off(self) -> None:
        """Answers 500 where no answer has begun; one that has can only break off."""
        if self._head is not None:
            self._carrier.transport.close()
            return
        await self.send({"type": "http.response.start", "status": 500, "headers": BROKEN_HEADERS})
        body = b"" if self.scope["method"] == "HEAD" else BROKEN
        await self.send({"type": "http.response.body", "body": body})
