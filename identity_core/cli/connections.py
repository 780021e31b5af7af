"""The open connections of one server process: their number in all and per address, unfinished bodies, and deadlines.

A connection counts for the address of its peer, an IPv6 address by its /64. Trusted proxies and Unix sockets carry many clients, so
they count in all only. One timer checks the deadlines of all connections.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import Counter
from typing import TYPE_CHECKING, Final

from identity_core.api.errors import error_answer
from identity_core.api.guard import request_ids
from identity_core.api.request import Request
from identity_core.api.request_log import FreeRefusals, write_refused_connection
from identity_core.api.transport import Receive, Scope, Send, deliver
from identity_core.errors import IdentityError, Overloaded, RateLimited
from identity_core.settings.server import Server
from identity_core.throttle.policy import bucket_address, is_trusted, parse_proxies

if TYPE_CHECKING:
    from identity_core.api.request import Operation
    from identity_core.cli.bounded_protocol import BoundedProtocol

_identify = request_ids(secrets.token_hex(4))

# Of the bodies that are not complete, in all connections together.
MAX_UNFINISHED_BYTES: Final = 32 * 1024 * 1024
# A late connection may cost an answer, so that at most so many are closed at once.
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
            return Overloaded("Too many connections are open.", details={"retryAfter": 1})
        limit = self.server.max_connections_per_address
        if address is not None and list(self._open.values()).count(address) >= limit:
            return RateLimited("Too many connections of this address.", details={"retryAfter": 1, "limit": limit})
        self._open[connection] = address
        if self._timer is None:
            self._timer = connection.loop.call_later(CHECK_SECONDS, self._check, connection.loop)
        return None

    def leave(self, connection: BoundedProtocol) -> None:
        """Forget a connection that has ended, or that was refused."""
        self.bodies.pop(connection, None)
        self._open.pop(connection, None)

    async def answer(self, refusal: IdentityError, shape: Operation | None, _: Scope, __: Receive, send: Send) -> None:
        """Answer ``refusal`` in the ``shape`` of an operation, as an ASGI application, with a request id of its own."""
        request = Request(request_id=_identify())
        await deliver(error_answer(refusal, request.request_id, shape), request, send)
        if self._logged and request.status is not None:
            write_refused_connection(request.status, refusal.code, request.sent_octets, request.request_id, self._free)

    def count_body(self, connection: BoundedProtocol, size: int) -> None:
        """Note that ``size`` bytes of an unfinished body have arrived. Refuse the largest bodies if there are too many bytes in all."""
        self.bodies[connection] = size
        while self.bodies.total() > MAX_UNFINISHED_BYTES:
            largest = max(self.bodies, key=self.bodies.__getitem__)
            del self.bodies[largest]
            largest.refuse(Overloaded("Too many bodies are unfinished.", details={"retryAfter": 1}))

    def _check(self, loop: asyncio.AbstractEventLoop) -> None:
        now, closed = loop.time(), 0
        for connection in tuple(self._open):
            closed += connection.end_if_late(now)
            if closed == CLOSED_PER_CHECK:
                break
        self._timer = loop.call_later(CHECK_SECONDS, self._check, loop) if self._open else None
