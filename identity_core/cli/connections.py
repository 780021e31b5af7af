"""The open connections of one server process: how many there are, whose they are, and that none keeps the server waiting.

A connection counts for the address of its peer, an IPv6 address by its /64. A trusted proxy and a Unix socket stand for
many clients: they count in all only. One tick looks through the connections instead of a timer for each.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from identity_core.api.errors import error_answer
from identity_core.api.guard import request_ids
from identity_core.api.request_log import FreeRefusals, write_refused_connection
from identity_core.codec.structs import encode
from identity_core.errors import IdentityError, Overloaded, RateLimited
from identity_core.settings.server import Server
from identity_core.throttle.policy import bucket_address, is_trusted, parse_proxies

_identify = request_ids(secrets.token_hex(4))


# The answers that wait for their readers, of all connections together, and the bodies that are not complete. Past it the one that
# has the most waiting is cut off or refused: small and quick ones go on.
MAX_UNSENT_OCTETS: Final = 32 * 1024 * 1024
MAX_UNFINISHED_OCTETS: Final = 32 * 1024 * 1024
# Endings cost an answer each: those of one tick must not hold up everybody else.
ENDED_IN_A_TICK: Final = 32
# With what else a process has open these are fewer than libuv has places.
CONNECTIONS_OF_A_TURN: Final = 512
TICK_SECONDS: Final = 0.25
# How often refused connections are reported in the log, at most.
REPORT_SECONDS: Final = 60.0

log = logging.getLogger("identity.connections")


# A connection (``HttpConnection``): ``end_if_late``, ``unsent``, ``abort`` and ``refuse`` are called.
Watched = Any


class Connections:
    """What ``server`` allows, and what is open. Each process has its own. Those that are refused have a record in the log of requests
    where that is ``logged``."""

    def __init__(self, server: Server, *, logged: bool = False) -> None:
        self.server = server
        self._logged = logged
        self._free = FreeRefusals()
        self._trusted = parse_proxies(server.trusted_proxies)
        self._open: dict[Watched, str | None] = {}
        self._of_address: Counter[str] = Counter()
        self._blocked: set[Watched] = set()
        self._unfinished: dict[Watched, int] = {}
        self._unfinished_octets = 0
        self._refused: Counter[str] = Counter()
        self._reported_at = float("-inf")
        self._ticking = False
        self._turn: object | None = None
        deadlines = (server.first_byte_timeout_seconds, server.header_timeout_seconds, server.write_timeout_seconds)
        self._tick_seconds = min(TICK_SECONDS, *(each / 4 for each in deadlines))

    def turn(self, loop: asyncio.AbstractEventLoop) -> object | None:
        """The same for all that is read in one turn of the event loop, when called as it is read; None where too many may be.

        Of two requests with one turn each had begun to come before the other was looked at: the kernel had told of both sockets by then,
        and a turn ends before it is asked again. But libuv asks again in one turn where the kernel filled all its 1,024 places."""
        if self._turn is None and len(self._open) <= CONNECTIONS_OF_A_TURN:
            self._turn = object()
            loop.call_soon(self._end_turn)
        return self._turn

    def _end_turn(self) -> None:
        self._turn = None

    def admit(self, connection: Watched, peer: str | None, loop: asyncio.AbstractEventLoop) -> IdentityError | None:
        """Counts a new connection, or says why it is not taken. ``peer`` None is a Unix socket."""
        address = None if peer is None or is_trusted(peer, self._trusted) else bucket_address(peer)
        if len(self._open) >= self.server.max_connections:
            self._refused["in all"] += 1
            return Overloaded("Too many connections are open.", details={"retryAfter": 1})
        if address is not None:
            if self._of_address[address] >= self.server.max_connections_per_address:
                self._refused["of one address"] += 1
                most = self.server.max_connections_per_address
                return RateLimited("Too many connections of this address.", details={"retryAfter": 1, "limit": most})
            self._of_address[address] += 1
        self._open[connection] = address
        if not self._ticking:
            self._ticking = True
            loop.call_later(self._tick_seconds, self._tick, loop)
        return None

    def refusal_octets(self, refusal: IdentityError, default_headers: Sequence[tuple[bytes, bytes]]) -> bytes:
        """A whole response that ends the connection, with a request id of its own."""
        request_id = _identify()
        answer = error_answer(refusal, request_id)
        body = encode(answer.body)
        headers = [
            *default_headers,
            *answer.encoded_headers(),
            (b"x-request-id", request_id.encode("ascii")),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
        ]
        if self._logged:
            write_refused_connection(answer.status, refusal.code, len(body), request_id, self._free)
        lines = b"".join(b"%s: %s\r\n" % header for header in headers)
        return STATUS_LINE[answer.status] + lines + b"\r\n" + body

    def leave(self, connection: Watched) -> None:
        """Forgets a connection that has ended; one that was not admitted is none."""
        self._blocked.discard(connection)
        self.finished(connection)
        address = self._open.pop(connection, None)
        if address is not None:
            self._of_address[address] -= 1
            if not self._of_address[address]:
                del self._of_address[address]

    def blocked(self, connection: Watched) -> None:
        """Its client reads more slowly than it is answered."""
        self._blocked.add(connection)
        unsent = {each: each.unsent() for each in self._blocked}
        total = sum(unsent.values())
        while total > MAX_UNSENT_OCTETS:
            slowest = max(unsent, key=unsent.__getitem__)
            total -= unsent.pop(slowest)
            self._refused["that did not read"] += 1
            slowest.abort()

    def unblocked(self, connection: Watched) -> None:
        """It has read enough to be sent more."""
        self._blocked.discard(connection)

    def unfinished(self, connection: Watched, octets: int) -> None:
        """So much of its body is here, and more is to come."""
        self._unfinished_octets += octets - self._unfinished.get(connection, 0)
        self._unfinished[connection] = octets
        while self._unfinished_octets > MAX_UNFINISHED_OCTETS:
            largest = max(self._unfinished, key=self._unfinished.__getitem__)
            self.finished(largest)
            self._refused["with a large body"] += 1
            largest.refuse(Overloaded("Too many bodies are on their way.", details={"retryAfter": 1}))

    def finished(self, connection: Watched) -> None:
        """Its body is complete, or given up."""
        self._unfinished_octets -= self._unfinished.pop(connection, 0)

    def _tick(self, loop: asyncio.AbstractEventLoop) -> None:
        now, ended = loop.time(), 0
        for connection in tuple(self._open):
            ended += connection.end_if_late(now)
            if ended == ENDED_IN_A_TICK:
                break
        self._report(now)
        self._ticking = bool(self._open)
        if self._ticking:
            loop.call_later(self._tick_seconds, self._tick, loop)

    def _report(self, now: float) -> None:
        if self._refused and now - self._reported_at >= REPORT_SECONDS:
            counts = ", ".join(f"{count} {why}" for why, count in sorted(self._refused.items()))
            log.warning("connections refused or cut off: %s; %d are open", counts, len(self._open))
            self._refused.clear()
            self._reported_at = now
