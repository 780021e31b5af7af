"""A connection on its way out: how it begins and ends, what waits to be answered, and a client that does not read.

What comes in is parsed by ``http_protocol.py``.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

import uvicorn
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.utils import get_local_addr, get_remote_addr
from uvicorn.server import ServerState

from identity_core.api.transport import Scope
from identity_core.cli.connections import Connections
from identity_core.cli.exchange import HttpExchange
from identity_core.errors import IdentityError

# What a connection holds before the one who answers has to wait; one part more is made by then.
UNSENT_OCTETS: Final = 32 * 1024
# Of the requests that came in one go so many are answered while they are parsed: others wait for that, and nothing of it is sent before.
AT_ONCE_IN_A_GO: Final = 32


AtOnce = Callable[[Scope], tuple[int, bytes, int, bytes] | None]


class HttpConnection(asyncio.Protocol, ABC):
    """``connections`` are all those of the process."""

    transport: asyncio.Transport
    flow: FlowControl

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        loop: asyncio.AbstractEventLoop | None,
        *,
        connections: Connections,
    ) -> None:
        self.app = config.loaded_app
        # What the application answers without waiting, where it can.
        self._at_once: AtOnce = getattr(self.app, "at_once", lambda scope: None)
        # How many more are answered so before others have their turn.
        self._at_once_left = 0
        self.server_state = server_state
        self.loop = loop or asyncio.get_running_loop()
        self.server: tuple[str, int | None] | None = None
        self.client: tuple[str, int] | None = None
        self.is_lost = False
        self._all = connections
        self._limits = connections.server
        # When the client must have gone on; meaningless while it waits for us.
        self._deadline = 0.0
        # Whether whatever is sent next has to wait for the client to read, and since when it has.
        self.is_unread = False
        self._blocked_since = 0.0
        self._closing_since: float | None = None
        self._refused = False
        self._default_headers: Sequence[tuple[bytes, bytes]] = ()
        self._default_lines = b""
        self._newest: HttpExchange | None = None
        # Those that wait for the one that is being answered.
        self._pipeline: deque[HttpExchange] = deque()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Takes the connection, or says why not and closes it."""
        self.server_state.connections.add(self)  # type: ignore[arg-type]
        self.transport = transport
        self.flow = FlowControl(transport)
        self.server = get_local_addr(transport)
        self.client = get_remote_addr(transport)
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
        self.server_state.connections.discard(self)
        self.is_lost = True
        if self._newest is not None:
            self._newest.notify()
        self.flow.resume_writing()

    def shutdown(self) -> None:
        """The server stops: an answer that is due is the last one."""
        if self._newest is None or self._newest.response_complete:
            self.transport.close()
        else:
            self._newest.keep_alive = False

    def _start(self, exchange: HttpExchange) -> None:
        if self.transport.is_closing():
            # It came behind a request that ends the connection: nobody is there to be answered, and nothing of it is done.
            return
        if self._at_once_left and not (self._refused or exchange.more_body or self.flow.write_paused):
            made = self._at_once(exchange.scope)
            if made is not None:
                self._at_once_left -= 1
                exchange.answer(*made)
                return
        task = self.loop.create_task(exchange.run(self.app))
        self.server_state.tasks.add(task)
        task.add_done_callback(self.server_state.tasks.discard)

    def default_lines(self) -> bytes:
        """What every answer has: the date. The server makes another list of it each second."""
        headers = self.server_state.default_headers
        if headers is not self._default_headers:
            self._default_headers = headers
            self._default_lines = b"".join([b"%b: %b\r\n" % each for each in headers])
        return self._default_lines

    def pause_writing(self) -> None:
        """The client reads too slowly."""
        self.flow.pause_writing()
        self.is_unread = True
        self._blocked_since = self.loop.time()
        self._all.blocked(self)

    def resume_writing(self) -> None:
        """The client has read most of what waited."""
        self.flow.resume_writing()
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

    @abstractmethod
    def end_if_late(self, now: float) -> bool:
        """Ends the connection when the client has let a deadline pass."""

    @abstractmethod
    def answered(self) -> None:
        """The answer is complete."""

    @abstractmethod
    def refuse(self, refusal: IdentityError) -> None:
        """Has the guard answer, after the requests before, and the connection end."""

    def _is_unread(self, now: float) -> bool:
        """Whether an answer has waited too long for the client to read on, also one that is all there is left to send."""
        since = self._blocked_since if self.is_unread else None
        if self.transport.is_closing():
            since = self._closing_since = self._closing_since or now
        return since is not None and now - since >= self._limits.write_timeout_seconds
