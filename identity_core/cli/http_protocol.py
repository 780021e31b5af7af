"""The server's side of one connection: bounds and deadlines for what comes before there is a request.

The parser is httptools; sockets, signals and workers are uvicorn's. Here octets are counted as they come, every wait has an end, and a
refusal goes the way of every request, as the scope's ``identity.refusal``: the guard charges a bucket, gives the answer its one shape
and counts it. An offer to upgrade is ignored, as RFC 9110 §7.8 allows. Trailers are read past (§6.5.1). Left out on purpose: an
answer to who has sent nothing, and reading on after a refusal; ``api/README.md`` lists the bounds.
"""

from __future__ import annotations

import asyncio
from typing import Any, Final
from urllib.parse import unquote

import httptools
import uvicorn
from uvicorn.server import ServerState

from identity_core.api.transport import MAX_HEADER_OCTETS, MAX_HEADERS, MAX_TARGET_OCTETS, Scope
from identity_core.cli.connections import Connections
from identity_core.cli.exchange import HttpExchange, split_target
from identity_core.cli.http_connection import AT_ONCE_IN_A_GO, HttpConnection
from identity_core.errors import HeadersTooLarge, IdentityError, InvalidRequest, RateLimited

# Requests of one connection that wait for the one before them. Clients that do not pipeline have none.
MAX_PIPELINED: Final = 32
# A body of which there is more counts among those that wait for their clients.
SMALL_BODY_OCTETS: Final = 16 * 1024
# Octets are counted by this much, because the parser does not tell where in them it was.
PARSED_AT_ONCE: Final = 4096

# What is parsed in the place of a request that is refused before it is one; after 1.0 the connection ends.
REFUSED: Final = b"GET / HTTP/1.0\r\n\r\n"

# Where the newest message of a connection is. BETWEEN also while it is being answered.
BETWEEN, HEAD, BODY = range(3)

ASGI: Final = {"version": "3.0", "spec_version": "2.3"}


class HttpProtocol(HttpConnection):
    """One connection as uvicorn's server wants it. ``connections`` are all those of the process."""

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
        *,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, _loop, connections=connections)
        self.app_state = app_state
        self.parser = self._new_parser()
        # Whether the head offers an upgrade: the parser then stops behind it, and would take its body for the next request.
        self._has_offer = False
        self._where = BETWEEN
        # When the octets came that are being parsed.
        self._now = 0.0
        # Octets since the parser last reported anything but a header field: of a head, a chunk's size line, trailers.
        self._unparsed = 0
        # Of a body that is still to be answered.
        self._body_octets = 0
        # The newest request, while nobody has begun to answer it and none is before it.
        self._unstarted: HttpExchange | None = None
        # Of the newest message.
        self._target = b""
        self._headers: list[tuple[bytes, bytes]] = []
        self._wants_continue = False
        self._scope: Scope = {}
        # Of the first request whose head is complete in what is being read: it has begun to come before all of that.
        self._turn: object | None = None

    def _new_parser(self) -> httptools.HttpRequestParser:
        parser = httptools.HttpRequestParser(self)
        # Bytes behind a request that ends the connection are not answered, and do not make that request invalid.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection has ended."""
        super().connection_lost(exc)
        # They refer to this connection: without them it goes at once, and not with the collector's next look.
        del self.parser
        self._newest, self._unstarted, self._scope = None, None, {}
        self._pipeline.clear()

    def data_received(self, data: bytes) -> None:
        """Octets of the client; after a refusal they are thrown away."""
        self._now = self.loop.time()
        self._at_once_left = AT_ONCE_IN_A_GO
        self._turn = self._all.turn(self.loop)
        while data and not self._refused:
            self._parse(data[:PARSED_AT_ONCE])
            data = data[PARSED_AT_ONCE:]
        if (newest := self._unstarted) is not None:
            # Of its body there is more to come, or no more is taken.
            self._unstarted = None
            self._start(newest)

    def _parse(self, octets: bytes) -> None:
        self._unparsed += len(octets)
        try:
            self.parser.feed_data(octets)
        except httptools.HttpParserUpgrade as offer:
            self._unparsed = 0
            self._parse(self._head_without_offer())
            if not self._refused:
                self._parse(octets[offer.args[0] :])
            return
        except httptools.HttpParserError as error:
            ours = error.__context__
            theirs = InvalidRequest("The octets are no valid HTTP/1.1 request.")
            self.refuse(ours if isinstance(ours, IdentityError) else theirs)
            return
        if self._unparsed > MAX_HEADER_OCTETS:
            self.refuse(HeadersTooLarge(details={"maxBytes": MAX_HEADER_OCTETS, "maxFields": MAX_HEADERS}))

    def _head_without_offer(self) -> bytes:
        """Return the newest head without its ``Upgrade`` fields, for a new parser that reads the body by its framing (RFC 9110 §7.8)."""
        version = self.parser.get_http_version().encode()
        lines = [b"%b %b HTTP/%b" % (self.parser.get_method(), self._target, version)]
        lines += [b"%b:%b" % field for field in self._headers if field[0] != b"upgrade"]
        self.parser, self._has_offer = self._new_parser(), False
        return b"\r\n".join((*lines, b"", b""))

    # What the parser tells. An exception in these ends the parsing and is the context of the parser's own.
    def on_message_begin(self) -> None:
        """The first octet of a request line."""
        self._target = b""
        self._headers = []
        self._wants_continue = False
        self._where = HEAD
        self._deadline = self._now + self._limits.header_timeout_seconds

    def on_url(self, url: bytes) -> None:
        """A part of the target. Raises ``InvalidRequest``."""
        self._target += url
        if len(self._target) > MAX_TARGET_OCTETS:
            raise InvalidRequest("The request target is too long.", details={"maxBytes": MAX_TARGET_OCTETS})

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header field, or a trailer. Raises ``HeadersTooLarge``."""
        if self._where == BODY:
            return
        if len(self._headers) == MAX_HEADERS:
            raise HeadersTooLarge(details={"maxBytes": MAX_HEADER_OCTETS, "maxFields": MAX_HEADERS})
        name = name.lower()
        if name == b"expect" and value.lower() == b"100-continue":
            self._wants_continue = True
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        """A request that can be worked on. Raises ``InvalidRequest`` for CONNECT, whose body has no framing, and ``RateLimited`` when too
        many of this connection wait already."""
        if self.parser.should_upgrade():
            if self.parser.get_method() == b"CONNECT":
                raise InvalidRequest("The method CONNECT is not supported.")
            self._has_offer = True
            return
        if len(self._pipeline) >= MAX_PIPELINED and not self._refused:
            raise RateLimited("Too many requests wait on one connection.", details={"limit": MAX_PIPELINED})
        self._unparsed = 0
        before = self._newest
        version = self.parser.get_http_version()
        self._scope = self._made_scope(version)
        self._newest = HttpExchange(
            self,
            self._scope,
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            wants_continue=self._wants_continue,
        )
        if before is None or before.response_complete:
            self._unstarted = self._newest
        else:
            self.flow.pause_reading()
            self._pipeline.append(self._newest)
        self._where = BODY
        self._deadline = self._now + self._limits.body_timeout_seconds

    def _made_scope(self, version: str) -> Scope:
        """The scope of the newest message. Raises what httptools does for a target that is none."""
        turn, self._turn = self._turn, None
        raw_path, query = split_target(self._target)
        return {
            "type": "http",
            "asgi": ASGI,
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": "http",
            "root_path": "",
            "headers": self._headers,
            "state": self.app_state.copy(),
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(raw_path.decode("ascii")),
            "raw_path": raw_path,
            "query_string": query,
            "identity.connection": self,
            "identity.turn": turn,
        }

    def on_chunk_header(self) -> None:
        """The size line of a chunk is complete."""
        self._unparsed = 0

    def on_body(self, body: bytes) -> None:
        """A part of the body."""
        self._unparsed = 0
        newest = self._newest
        if newest is None or newest.response_complete:
            return
        self._body_octets += len(body)
        if self._body_octets > SMALL_BODY_OCTETS:
            self._all.unfinished(self, self._body_octets)
        newest.add(body)

    def on_message_complete(self) -> None:
        """The last octet of a request."""
        self._unparsed = 0
        if self._has_offer:
            return
        self._where = BETWEEN
        if self._body_octets > SMALL_BODY_OCTETS:
            self._all.finished(self)
        self._body_octets = 0
        newest = self._newest
        if newest is None or newest.response_complete:
            self._deadline = self._now + self._limits.keep_alive_timeout_seconds
            return
        newest.complete()
        if self._unstarted is not None:
            self._unstarted = None
            self._start(newest)

    def answered(self) -> None:
        """An answer is in the transport's buffer, or sent: the next request of the connection, or the wait for one."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        if self._pipeline:
            self._start(self._pipeline.popleft())
            return
        self.flow.resume_reading()
        if self._where == BETWEEN:
            self._deadline = self.loop.time() + self._limits.keep_alive_timeout_seconds
        elif self._where == HEAD:
            # The rest of it may have come while no one read.
            self._deadline = self.loop.time() + self._limits.header_timeout_seconds

    def end_if_late(self, now: float) -> bool:
        """Ends the connection when the client has let a deadline pass."""
        if self._is_unread(now):
            self.transport.abort()
            return True
        waits_for_us = self._newest is not None and not self._newest.response_complete
        if waits_for_us or now < self._deadline or self.transport.is_closing():
            return False
        if self._where == HEAD:
            seconds = self._limits.header_timeout_seconds
            self.refuse(InvalidRequest("The request did not arrive in time.", details={"seconds": seconds}))
        else:
            self.transport.close()
        return True

    def refuse(self, refusal: IdentityError) -> None:
        """Has the guard answer, after the requests before, and the connection end: where the next request would begin is
        unknown."""
        self._refused = True
        self._all.finished(self)
        if self.transport.is_closing():
            return
        newest = self._newest
        if self._where != BODY or newest is None:
            self._begin_refused(refusal)
            return
        newest.keep_alive = False
        if newest.response_complete:
            self.transport.close()
            return
        # The one who waits for the rest of the body finds the refusal instead.
        self._scope["identity.refusal"] = refusal
        newest.end()

    def _begin_refused(self, refusal: IdentityError) -> None:
        """A request of which nothing is trusted, not even its X-Request-Id."""
        is_paused = self.flow.read_paused
        self.parser = httptools.HttpRequestParser(self)
        self.parser.feed_data(REFUSED)
        self._scope["identity.refusal"] = refusal
        if not is_paused:
            # What still comes is thrown away: unread, it would have the kernel reset the connection before the answer is read.
            self.flow.resume_reading()
