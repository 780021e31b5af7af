"""Which requests have one turn, over sockets: they may be answered by one look at what other processes have written."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Callable
from types import SimpleNamespace
from typing import Any

import pytest
import uvloop
from uvicorn.server import ServerState

from identity_core.api.transport import Scope
from identity_core.cli import connections as room
from identity_core.cli.connections import Connections
from identity_core.cli.http_protocol import HttpProtocol
from identity_core.settings.server import Server

LOOPS = [asyncio.new_event_loop, uvloop.new_event_loop]
SECONDS = 30


class Asked:
    """An application that answers at once, and remembers the turns of what it is asked, by path."""

    def __init__(self) -> None:
        self.turns: dict[bytes, object] = {}
        self.then: Callable[[], None] = lambda: None

    def at_once(self, scope: Scope) -> tuple[int, bytes, int, bytes]:
        self.turns[scope["raw_path"]] = scope["identity.turn"]
        self.then()
        return 200, b"content-length: 0\r\n", 1, b""

    async def come(self, count: int) -> None:
        async with asyncio.timeout(SECONDS):
            while len(self.turns) < count:
                await asyncio.sleep(0.001)


def get(*paths: str) -> bytes:
    return b"".join(f"GET {path} HTTP/1.1\r\nHost: h\r\n\r\n".encode() for path in paths)


@contextlib.asynccontextmanager
async def clients(app: Asked, count: int) -> AsyncIterator[list[socket.socket]]:
    """Sockets that are connected to a server here, which has begun to read from each."""
    loop, state, config = asyncio.get_running_loop(), ServerState(), SimpleNamespace(loaded_app=app)
    connections: Any = Connections(Server(max_connections_per_address=1_000))

    def protocol() -> asyncio.Protocol:
        settings: Any = config
        return HttpProtocol(settings, state, {}, connections=connections)

    server = await loop.create_server(protocol, "127.0.0.1", 0)
    with contextlib.ExitStack() as stack:
        made = [
            stack.enter_context(socket.create_connection(server.sockets[0].getsockname(), timeout=SECONDS))
            for _ in range(count)
        ]
        async with asyncio.timeout(SECONDS):
            while len(state.connections) < count:
                await asyncio.sleep(0.001)
        # Until each is read from.
        await asyncio.sleep(0.01)
        yield made
    server.close()


def run(loop: Callable[[], asyncio.AbstractEventLoop], story: Any) -> None:
    with asyncio.Runner(loop_factory=loop) as runner:
        runner.run(story)


@pytest.mark.parametrize("loop", LOOPS)
def test_what_had_come_before_it_is_read_has_one_turn(loop: Any) -> None:
    async def story() -> None:
        app = Asked()
        async with clients(app, 3) as (first, second, third):
            first.sendall(get("/a"))
            second.sendall(get("/b"))
            await app.come(2)
            third.sendall(get("/c"))
            await app.come(3)
        assert app.turns[b"/a"] is app.turns[b"/b"] is not None
        assert app.turns[b"/c"] not in (app.turns[b"/a"], None)

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_what_is_sent_when_another_is_answered_has_not(loop: Any) -> None:
    """It may be sent by somebody who knows of a write that was not there when the other was looked at."""

    async def story() -> None:
        app = Asked()
        async with clients(app, 2) as (first, second):

            def send() -> None:
                app.then = lambda: None
                second.sendall(get("/b"))

            app.then = send
            first.sendall(get("/a"))
            await app.come(2)
        assert app.turns[b"/a"] is not app.turns[b"/b"]

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_nor_has_what_comes_behind_a_request_in_one_go(loop: Any) -> None:
    """The kernel has told of the first of its octets, no more."""

    async def story() -> None:
        app = Asked()
        async with clients(app, 1) as (only,):
            only.sendall(get("/a", "/b", "/c"))
            await app.come(3)
        assert app.turns[b"/a"] is not None
        assert (app.turns[b"/b"], app.turns[b"/c"]) == (None, None)

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_the_rest_of_one_and_what_comes_behind_it(loop: Any) -> None:
    async def story() -> None:
        app = Asked()
        async with clients(app, 1) as (only,):
            half, rest = get("/a")[:9], get("/a")[9:]
            only.sendall(half)
            await asyncio.sleep(0.05)
            only.sendall(rest + get("/b"))
            await app.come(2)
        assert app.turns[b"/a"] is not None
        assert app.turns[b"/b"] is None

    run(loop, story())


@pytest.mark.parametrize("loop", LOOPS)
def test_where_too_many_are_open_for_one_look_of_the_kernel_nobody_has_one(
    loop: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(room, "CONNECTIONS_OF_A_TURN", 1)

    async def story() -> None:
        app = Asked()
        async with clients(app, 2) as (first, second):
            first.sendall(get("/a"))
            second.sendall(get("/b"))
            await app.come(2)
        assert {*app.turns.values()} == {None}

    run(loop, story())
