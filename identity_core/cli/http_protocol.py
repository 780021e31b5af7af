"""The server's side of one connection: bounds and deadlines for what comes before there is a request.

The parser is httptools, the rest uvicorn's. Here octets are counted as they come, every wait has an end, and a refusal goes
the way of every request, as the scope's ``identity.refusal``: the guard charges a bucket, gives the answer its one shape and
counts it. An offer to upgrade is ignored, as RFC 9110 §7.8 allows. Trailers are read past (§6.5.1). Left out on purpose: an
answer to who has sent nothing, and reading on after a refusal; ``api/README.md`` lists the bounds.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from identity_core.api.transport import MAX_HEADER_OCTETS, MAX_HEADERS, MAX_TARGET_OCTETS
from identity_core.cli.connections import Connections
from identity_core.errors import HeadersTooLarge, IdentityError, InvalidRequest, RateLimited

# Requests of one connection that wait for the one before them. Clients that do not pipeline have none.
MAX_PIPELINED: Final = 32
# A body of which there is more counts among those that wait for their clients.
SMALL_BODY_OCTETS: Final = 16 * 1024
# What a connection holds before the one who answers has to wait; one part more is made by then.
UNSENT_OCTETS: Final = 32 * 1024
# Octets are counted by this much, because the parser does not tell where in them it was.
PARSED_AT_ONCE: Final = 4096

# What is parsed in the place of a request that is refused before it is one; after 1.0 the connection ends.
REFUSED: Final = b"GET / HTTP/1.0\r\n\r\n"

# Where the newest message of a connection is. BETWEEN also while it is being answered.
BETWEEN, HEAD, BODY = range(3)


class HttpProtocol(HttpToolsProtocol):
    """Uvicorn's protocol on httptools, bounded. ``connections`` are all those of the process."""

    def __init__(self, *arguments: Any, connections: Connections, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._all = connections
        self._limits = connections.server
        self._where = BETWEEN
        # When the client must have gone on; meaningless while it waits for us.
        self._deadline = 0.0
        # When the octets came that are being parsed.
        self._now = 0.0
        # Octets since the parser last reported anything but a header field: of a head, a chunk's size line, trailers.
        self._unparsed = 0
        # Of a body that is still to be answered.
        self._body_octets = 0
        # Whether whatever is sent next has to wait for the client to read, and since when it has.
        self.is_unread = False
        self._blocked_since = 0.0
        self._closing_since: float | None = None
        self._refused = False

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes the connection, or says why not and closes it."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=UNSENT_OCTETS)
        if self.client is None and self.server is not None and self.server[1] is not None:
            # Over TCP only who is gone again has no address.
            self._refused = True
            transport.abort()
            return
        refusal = self._all.admit(self, self.client[0] if self.client else None, self.loop)
        if refusal is not None:
            self._refused = True
            transport.write(self._all.refusal_octets(refusal, self.server_state.default_headers))
            transport.close()
        self._deadline = self.loop.time() + self._limits.first_byte_timeout_seconds

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        self._all.leave(self)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Octets of the client; after a refusal they are thrown away."""
        self._now = self.loop.time()
        while data and not self._refused:
            self._parse(data[:PARSED_AT_ONCE])
            data = data[PARSED_AT_ONCE:]

    def _parse(self, octets: bytes) -> None:
        self._unparsed += len(octets)
        try:
            self.parser.feed_data(octets)
        except httptools.HttpParserUpgrade as offer:
            # The parser has stopped behind that request.
            self._parse(octets[offer.args[0] :])
            return
        except httptools.HttpParserError as error:
            ours = error.__context__
            theirs = InvalidRequest("The octets are no valid HTTP/1.1 request.")
            self.refuse(ours if isinstance(ours, IdentityError) else theirs)
            return
        if self._unparsed > MAX_HEADER_OCTETS:
            self.refuse(HeadersTooLarge(details={"maxBytes": MAX_HEADER_OCTETS, "maxFields": MAX_HEADERS}))

    # What the parser tells. An exception in these ends the parsing and is the context of the parser's own.
    def on_message_begin(self) -> None:
        """The first octet of a request line."""
        super().on_message_begin()
        self._where = HEAD
        self._deadline = self._now + self._limits.header_timeout_seconds

    def on_url(self, url: bytes) -> None:
        """A part of the target. Raises ``InvalidRequest``."""
        self.url += url
        if len(self.url) > MAX_TARGET_OCTETS:
            raise InvalidRequest("The request target is too long.", details={"maxBytes": MAX_TARGET_OCTETS})

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field, or a trailer. Raises ``HeadersTooLarge``."""
        if self._where == BODY:
            return
        if len(self.headers) == MAX_HEADERS:
            raise HeadersTooLarge(details={"maxBytes": MAX_HEADER_OCTETS, "maxFields": MAX_HEADERS})
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self.expect_100_continue = True
        self.headers.append((name, value))

    def on_headers_complete(self) -> None:
        """A request that can be worked on. Raises ``RateLimited`` when too many of this connection wait already."""
        if len(self.pipeline) >= MAX_PIPELINED and not self._refused:
            raise RateLimited("Too many requests wait on one connection.", details={"limit": MAX_PIPELINED})
        self._unparsed = 0
        self.scope["identity.connection"] = self  # type: ignore[typeddict-unknown-key]
        super().on_headers_complete()
        self._where = BODY
        self._deadline = self._now + self._limits.body_timeout_seconds

    def on_chunk_header(self) -> None:
        """The size line of a chunk is complete."""
        self._unparsed = 0

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._unparsed = 0
        if self.cycle.response_complete:
            return
        self._body_octets += len(body)
        if self._body_octets > SMALL_BODY_OCTETS:
            self._all.unfinished(self, self._body_octets)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """The last octet of a request."""
        self._unparsed = 0
        self._where = BETWEEN
        if self._body_octets > SMALL_BODY_OCTETS:
            self._all.finished(self)
        self._body_octets = 0
        cycle = self.cycle
        if cycle.response_complete:
            self._deadline = self._now + self._limits.keep_alive_timeout_seconds
            return
        cycle.more_body = False
        cycle.message_event.set()

    def on_response_complete(self) -> None:
        """An answer is in the transport's buffer, or sent: the next request of the connection, or the wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        self.flow.resume_reading()
        if self._where == BETWEEN:
            self._deadline = self.loop.time() + self._limits.keep_alive_timeout_seconds
        elif self._where == HEAD:
            # The rest of it may have come while no one read.
            self._deadline = self.loop.time() + self._limits.header_timeout_seconds

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        super().pause_writing()
        self.is_unread = True
        self._blocked_since = self.loop.time()
        self._all.blocked(self)

    def resume_writing(self) -> None:
        """The client has read most of what waited."""
        super().resume_writing()
        self.is_unread = False
        self._all.unblocked(self)

    # What the guard asks, beside is_unread.
    def is_closing(self) -> bool:
        """Whether nothing more reaches the client."""
        return self.transport.is_closing()

    # How the connections of the process look after this one.
    def unsent(self) -> int:
        """The octets that wait for the client to read."""
        return self.transport.get_write_buffer_size()

    def abort(self) -> None:
        """Ends the connection, whatever waits."""
        self.transport.abort()

    def end_if_late(self, now: float) -> bool:
        """Ends the connection when the client has let a deadline pass."""
        if self._is_unread(now):
            self.transport.abort()
            return True
        waits_for_us = self.cycle is not None and not self.cycle.response_complete
        if waits_for_us or now < self._deadline or self.transport.is_closing():
            return False
        if self._where == HEAD:
            seconds = self._limits.header_timeout_seconds
            self.refuse(InvalidRequest("The request did not arrive in time.", details={"seconds": seconds}))
        else:
            self.transport.close()
        return True

    def _is_unread(self, now: float) -> bool:
        """Whether an answer has waited too long for the client to read on, also one that is all there is left to send."""
        since = self._blocked_since if self.is_unread else None
        if self.transport.is_closing():
            since = self._closing_since = self._closing_since or now
        return since is not None and now - since >= self._limits.write_timeout_seconds

    def refuse(self, refusal: IdentityError) -> None:
        """Has the guard answer, after the requests before, and the connection end: where the next request would begin is
        unknown."""
        self._refused = True
        self._all.finished(self)
        if self.transport.is_closing():
            return
        if self._where != BODY:
            self._begin_refused(refusal)
            return
        self.cycle.keep_alive = False
        if self.cycle.response_complete:
            self.transport.close()
            return
        # The one who waits for the rest of the body finds the refusal instead.
        self.cycle.scope["identity.refusal"] = refusal  # type: ignore[typeddict-unknown-key]
        self.cycle.more_body = False
        self.cycle.message_event.set()

    def _begin_refused(self, refusal: IdentityError) -> None:
        """A request of which nothing is trusted, not even its X-Request-Id."""
        is_paused = self.flow.read_paused
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(REFUSED)
        self.scope["identity.refusal"] = refusal  # type: ignore[typeddict-unknown-key]
        if not is_paused:
            # What still comes is thrown away: unread, it would have the kernel reset the connection before the answer is read.
            self.flow.resume_reading()
