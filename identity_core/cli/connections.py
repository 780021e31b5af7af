"""The open connections of one server process, and uvicorn's HTTP protocol class with limits on bytes and time.

A connection counts for the address of its peer, an IPv6 address by its /64. Trusted proxies and Unix sockets carry
many clients, so they count in the total only. One timer checks the deadlines of all connections.

uvicorn and httptools parse requests and their ends. ``BoundedProtocol`` counts the bytes of heads, trailers and chunk
lines, closes connections whose client is late, and answers bytes that are not HTTP in the shape of all errors. It
ignores offers to upgrade (RFC 9110 §7.8) and trailers (§6.5.1). It overrides inner methods of uvicorn, so the minor
version of uvicorn is pinned; ``tests/attack/test_raw_socket.py`` and ``test_smuggling.py`` are the contract for an
upgrade.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from functools import partial
from itertools import islice
from math import inf
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from identity_core.api.access_log import FreeRefusals, write_refused_connection
from identity_core.api.errors import early_operation, error_answer
from identity_core.api.guard import request_ids
from identity_core.api.request import Operation, Request
from identity_core.api.transport import MAX_HEADER_OCTETS, MAX_HEADERS, Receive, Scope, Send, deliver
from identity_core.errors import HeadersTooLarge, IdentityError, InvalidRequest, Overloaded, RateLimited
from identity_core.settings.server import Server
from identity_core.throttle.policy import bucket_address, is_trusted, parse_proxies

_identify = request_ids(secrets.token_hex(4))

# The bytes of incomplete bodies, in all connections together.
MAX_UNFINISHED_BYTES: Final = 32 * 1024 * 1024
# Closing a late connection may require an answer, so at most this many are closed at once.
CLOSED_PER_CHECK: Final = 64
CHECK_SECONDS: Final = 0.1


class Connections:
    """The open connections and the limits of ``server``. If ``logged``, refused connections are written to the log of requests."""

    def __init__(self, server: Server, *, logged: bool = False) -> None:
        self.server, self._logged, self._free = server, logged, FreeRefusals()
        self._trusted = parse_proxies(server.trusted_proxies)
        self._open: dict[BoundedProtocol, str | None] = {}
        # The bytes of unfinished bodies; each connection removes its own.
        self.bodies: Counter[BoundedProtocol] = Counter()
        self._timer: asyncio.TimerHandle | None = None

    def admit(self, connection: BoundedProtocol) -> IdentityError | None:
        """Count a new connection, or return why it is refused."""
        peer = connection.client[0] if connection.client else None
        address = None if peer is None or is_trusted(peer, self._trusted) else bucket_address(peer)
        if len(self._open) >= self.server.max_connections:
            # The oldest connection that waits for its client is closed, so that silent clients do not keep new ones out.
            if not (ended := self._end_late(inf, 1)):
                return Overloaded("Too many connections are open.", details={"retryAfter": 1})
            self.leave(ended[0])
        limit = self.server.max_connections_per_address
        if address is not None and list(self._open.values()).count(address) >= limit:
            return RateLimited("Too many connections of this address.", details={"retryAfter": 1, "limit": limit})
        self._open[connection] = address
        if self._timer is None:
            self._timer = connection.loop.call_later(CHECK_SECONDS, self._check, connection.loop)
        return None

    def leave(self, connection: BoundedProtocol) -> None:
        """Remove a connection that has ended, or that was refused."""
        self.bodies.pop(connection, None)
        self._open.pop(connection, None)

    async def answer(self, refusal: IdentityError, shape: Operation | None, _: Scope, __: Receive, send: Send) -> None:
        """Answer ``refusal`` in the ``shape`` of an operation, as an ASGI application, with a new request id."""
        request = Request(request_id=_identify())
        await deliver(error_answer(refusal, request.request_id, shape), request, send)
        if self._logged and request.status is not None:
            write_refused_connection(request.status, refusal.code, request.sent_octets, request.request_id, self._free)

    def count_body(self, connection: BoundedProtocol, size: int) -> None:
        """Count ``size`` bytes of an unfinished body. If there are too many bytes in all, refuse the largest bodies."""
        self.bodies[connection] = size
        while self.bodies.total() > MAX_UNFINISHED_BYTES:
            largest = max(self.bodies, key=self.bodies.__getitem__)
            del self.bodies[largest]
            largest.refuse(Overloaded("Too many bodies are unfinished.", details={"retryAfter": 1}))

    def _end_late(self, now: float, most: int) -> list[BoundedProtocol]:
        """End at most ``most`` connections whose clients are late at ``now``, the oldest first, and return them."""
        return list(islice((each for each in tuple(self._open) if each.end_if_late(now)), most))

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        self._end_late(loop.time(), CLOSED_PER_CHECK)
        self._timer = loop.call_later(CHECK_SECONDS, self._check, loop) if self._open else None


# The parser does not report how many bytes of a head it has read, so bytes are counted in pieces of this size.
PIECE_BYTES: Final = 4096
# Smaller parts of a body are not counted among those of all connections.
SMALL_BODY_BYTES: Final = 16 * 1024
# Requests of one connection that wait for the one before them.
MAX_PIPELINED: Final = 32
# A refusal of bytes that are not a request is the answer to this one; after HTTP/1.0 the connection closes.
REFUSED: Final = b"GET / HTTP/1.0\r\n\r\n"

# The state of the newest message of a connection. BETWEEN also while it is being answered.
BETWEEN, HEAD, BODY = range(3)


class BoundedProtocol(HttpToolsProtocol):
    """One connection. ``connections`` has those of the process and the limits."""

    def __init__(self, *args: Any, connections: Connections, **named: Any) -> None:
        super().__init__(*args, **named)
        self._open, self._limits = connections, connections.server
        self.timeout_keep_alive = self._limits.keep_alive_timeout_seconds  # type: ignore[assignment]
        self._stage, self._deadline, self._stalled_since = BETWEEN, 0.0, 0.0
        # Bytes since the parser last reported anything except a header field: of a head, of a chunk's size line, of
        # trailers.
        self._unparsed = self._body_bytes = 0
        self._is_refused = False
        # The head of the answer that is being written; empty once it is written.
        self._answer_head: bytes | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        # The number of unsent bytes from which ``send`` waits for the client.
        transport.set_write_buffer_limits(high=32 * 1024)
        self.is_closing = transport.is_closing
        if self.client is None and self.server is not None and self.server[1] is not None:
            # A TCP peer without an address has already disconnected.
            transport.abort()
        elif refusal := self._open.admit(self):
            self.refuse(refusal)
        self._deadline = self.loop.time() + self._limits.first_byte_timeout_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        while data and not self._is_refused and not self.transport.is_closing():
            piece, data = data[:PIECE_BYTES], data[PIECE_BYTES:]
            self._unparsed += len(piece)
            try:
                self.parser.feed_data(piece)
            except httptools.HttpParserUpgrade as offer:
                data = self._head_without_offer() + piece[offer.args[0] :] + data
            except httptools.HttpParserError as error:
                own = error.__context__
                self.refuse(own if isinstance(own, IdentityError) else InvalidRequest("The bytes are not HTTP/1.1."))
            if self._unparsed > MAX_HEADER_OCTETS:
                self.refuse(HeadersTooLarge(details={"maxBytes": MAX_HEADER_OCTETS, "maxFields": MAX_HEADERS}))

    def _head_without_offer(self) -> bytes:
        """Return the newest head without its ``Upgrade`` fields, for a new parser that reads the body by its framing."""
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self.url, self.parser.get_http_version().encode())]
        lines += [b"%b:%b" % field for field in self.headers if field[0] != b"upgrade"]
        self.parser = httptools.HttpRequestParser(self)
        return b"\r\n".join((*lines, b"", b""))

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._unset_keepalive_if_required()
        self._stage, self._deadline = HEAD, self.loop.time() + self._limits.header_timeout_seconds

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise InvalidRequest("The method CONNECT is not supported.")
            return
        if len(self.pipeline) == MAX_PIPELINED and not self._is_refused:
            raise RateLimited("Too many requests wait on one connection.", details={"limit": MAX_PIPELINED})
        super().on_headers_complete()
        self._unset_keepalive_if_required()
        self.cycle.transport = self  # type: ignore[assignment]
        # Trailers must not become fields of the head.
        self.headers, self._unparsed, self._body_bytes = [], 0, 0
        self._stage, self._deadline = BODY, self.loop.time() + self._limits.body_timeout_seconds

    def on_chunk_header(self) -> None:
        """Restart the count: the size line of a chunk is complete."""
        self._unparsed = 0

    def on_body(self, body: bytes) -> None:
        super().on_body(body)
        self._unparsed = 0
        self._body_bytes += len(body)
        if self._body_bytes > SMALL_BODY_BYTES and not self.cycle.response_complete:
            self._open.count_body(self, self._body_bytes)
            if self._is_refused:
                raise ConnectionAbortedError

    def on_message_complete(self) -> None:
        self._unparsed = 0
        # The parser stops behind a head that offers an upgrade.
        if not self.parser.should_upgrade():
            super().on_message_complete()
            self._open.bodies.pop(self, None)
            # uvicorn's own timer closes idle connections.
            self._stage, self._deadline = BETWEEN, inf

    def write(self, data: bytes) -> None:
        """Write a part of an answer. The head is written together with the first part of the body, because each write
        is a system call. A closed connection takes nothing: the client has gone."""
        if self._answer_head is None and self.cycle.response_started:
            self._answer_head = data
        elif not self.transport.is_closing():
            self.transport.write((self._answer_head or b"") + data)
            self._answer_head = b""

    def close(self) -> None:
        """Write the rest of an answer, and close the connection."""
        self.write(b"")
        self.transport.close()

    def on_response_complete(self) -> None:
        self.write(b"")
        self._answer_head = None
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._stalled_since = self.loop.time()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stalled_since = 0.0

    def refuse(self, refusal: IdentityError) -> None:
        """Stop parsing, answer ``refusal`` after the pending answers, and close the connection."""
        if self._stage == BODY and self.cycle.response_started:
            self.close()
        if self._is_refused or self.transport.is_closing():
            return
        self._is_refused = True
        if self._stage == BODY and self.pipeline:
            self.pipeline.popleft()
        elif self._stage == BODY:
            # The refusal is the answer to this request, and its application gets a disconnection.
            self.cycle.disconnected = self.cycle.response_complete = True
            self.cycle.message_event.set()
        # A worker whose application is not open yet has no shapes.
        shape = early_operation(getattr(self.app, "shapes", {}), self.url if self._stage else b"")
        self.app = partial(self._open.answer, refusal, shape)
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(REFUSED)
        # Bytes that still arrive are discarded: if they were unread at the end, the kernel would reset the
        # connection.
        self.flow.resume_reading()

    def end_if_late(self, now: float) -> bool:
        """Close the connection and return True if its client has missed a deadline. ``now``: seconds of the loop's
        clock."""
        if self.transport.is_closing():
            self._stalled_since = self._stalled_since or now
        is_answered = self.cycle is None or self.cycle.response_complete
        if self._stalled_since:
            if is_late := now - self._stalled_since >= self._limits.write_timeout_seconds:
                self.transport.abort()
        elif is_late := now >= self._deadline and (is_answered or (self._stage == BODY and not self.pipeline)):
            if self._stage == HEAD or not is_answered:
                # The application reads bodies first, so no handler of a body that is late has been called.
                seconds = self._limits.header_timeout_seconds if is_answered else self._limits.body_timeout_seconds
                self.refuse(InvalidRequest("The request did not arrive in time.", details={"seconds": seconds}))
            else:
                self.transport.close()
        return is_late
