"""One request and its answer over a connection of which every write is known."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref
from collections.abc import Awaitable, Callable, Iterable
from types import SimpleNamespace
from typing import Any

import httptools
import pytest
import uvicorn
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT, FlowControl
from uvicorn.server import ServerState

from identity_core.api.transport import Message, Receive, Scope, Send
from identity_core.cli.connections import Connections
from identity_core.cli.exchange import Application, HttpExchange
from identity_core.cli.http_connection import AT_ONCE_IN_A_GO
from identity_core.cli.http_protocol import HttpProtocol
from identity_core.settings.server import Server

LENGTH = (b"content-length", b"5")


class Transport:
    """What is written, and whether it is read and closed."""

    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.is_closed = self.is_paused = False

    def write(self, octets: bytes) -> None:
        self.writes.append(octets)

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False

    def get_extra_info(self, name: str) -> Any:
        return {"peername": ("192.0.2.1", 4711), "sockname": ("192.0.2.2", 80)}.get(name)

    def set_write_buffer_limits(self, high: int) -> None:
        """No bound is needed here."""


class Connection:
    """The carrier of an exchange."""

    def __init__(self) -> None:
        self.transport: Any = Transport()
        self.flow = FlowControl(self.transport)
        self.is_lost = False
        self.answers = 0

    def default_lines(self) -> bytes:
        return b"date: now\r\n"

    def answered(self) -> None:
        self.answers += 1


def exchange_over(
    connection: Connection, *, method: str = "GET", alive: bool = True, expects: bool = False
) -> HttpExchange:
    return HttpExchange(connection, {"method": method}, keep_alive=alive, wants_continue=expects)


def answering(*messages: Message) -> Application:
    async def application(_scope: Scope, _receive: Receive, send: Send) -> None:
        for message in messages:
            await send(message)

    return application


def start(status: int, *headers: tuple[bytes, bytes]) -> Message:
    return {"type": "http.response.start", "status": status, "headers": headers}


def part(body: bytes = b"", *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


def written(application: Application, **options: Any) -> tuple[list[bytes], Connection]:
    """What goes out when ``application`` answers."""

    async def run() -> Connection:
        connection = Connection()
        exchange = exchange_over(connection, **options)
        exchange.end()
        await exchange.run(application)
        return connection

    connection = asyncio.run(run())
    return connection.transport.writes, connection


def test_head_and_body_are_one_write() -> None:
    writes, connection = written(answering(start(200, (b"etag", b'"1"'), LENGTH), part(b"hello")))
    assert writes == [b'HTTP/1.1 200 OK\r\ndate: now\r\netag: "1"\r\ncontent-length: 5\r\n\r\nhello']
    assert connection.answers == 1
    assert not connection.transport.is_closed


def test_parts_go_out_one_by_one() -> None:
    writes, connection = written(answering(start(200, LENGTH), part(b"hel", more=True), part(b"lo", more=True), part()))
    assert [octets.rpartition(b"\r\n")[2] for octets in writes] == [b"hel", b"lo"]
    assert connection.answers == 1


@pytest.mark.parametrize(("method", "status"), [("HEAD", 200), ("GET", 304), ("GET", 204)])
def test_an_answer_without_a_body_may_say_its_length(method: str, status: int) -> None:
    headers = () if status == 204 else (LENGTH,)
    writes, connection = written(answering(start(status, *headers), part()), method=method)
    assert len(writes) == 1
    assert writes[0].endswith(b"\r\n\r\n")
    assert not connection.transport.is_closed


def test_a_connection_that_ends_says_so_once() -> None:
    writes, connection = written(answering(start(200, LENGTH), part(b"hello")), alive=False)
    assert writes[0].count(b"connection: close") == 1
    assert connection.transport.is_closed
    writes, connection = written(answering(start(200, LENGTH, (b"connection", b"close")), part(b"hello")))
    assert writes[0].count(b"connection: close") == 1
    assert connection.transport.is_closed


@pytest.mark.parametrize(
    "messages",
    [
        (start(200, LENGTH), part(b"hell")),
        (start(200, LENGTH), part(b"hell", more=True), part()),
        (start(200, LENGTH), part(b"hello, world")),
        (start(200, LENGTH), part(b"hello", more=True), part(b"!")),
        (start(304), part(b"hello")),
        (start(200, LENGTH), start(200, LENGTH)),
        (start(200, LENGTH),),
    ],
    ids=["short", "short in parts", "long", "long in parts", "304 with a body", "two heads", "no body"],
)
def test_a_client_never_takes_one_answer_for_two(
    messages: tuple[Message, ...], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        writes, connection = written(answering(*messages))
    assert connection.transport.is_closed
    assert connection.answers == 0
    assert len(b"".join(writes).rpartition(b"\r\n\r\n")[2]) <= 5
    assert caplog.records


@pytest.mark.parametrize(
    "headers",
    [
        ((b"location", b"/a\r\nset-cookie: b"), LENGTH),
        ((b"location", b"/a\nb"), LENGTH),
        ((b"location", b"/a\x00"), LENGTH),
        ((b"x\r\ny", b"1"), LENGTH),
        (),
    ],
    ids=["a line more", "a bare line feed", "a zero", "in a name", "no length"],
)
def test_a_head_that_is_none_is_500(headers: tuple[tuple[bytes, bytes], ...], caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        writes, connection = written(answering(start(200, *headers), part(b"hello")))
    (answer,) = writes
    assert answer.startswith(b"HTTP/1.1 500 ")
    assert b"set-cookie" not in answer
    assert connection.transport.is_closed
    assert caplog.records


def test_an_application_that_fails_before_its_answer_is_500(caplog: pytest.LogCaptureFixture) -> None:
    async def application(_scope: Scope, _receive: Receive, _send: Send) -> None:
        raise ValueError("no luck")

    with caplog.at_level(logging.ERROR, "uvicorn.error"):
        writes, connection = written(application)
    assert b"".join(writes).startswith(b"HTTP/1.1 500 ")
    assert b"no luck" not in b"".join(writes)
    assert connection.transport.is_closed
    assert caplog.records[0].exc_info is not None


def test_nothing_is_written_to_a_client_that_has_left() -> None:
    async def run() -> list[bytes]:
        connection = Connection()
        exchange = exchange_over(connection)
        connection.is_lost = True
        await exchange.run(answering(start(200, LENGTH), part(b"hello")))
        writes: list[bytes] = connection.transport.writes
        return writes

    assert asyncio.run(run()) == []


def reading(steps: Callable[[HttpExchange, Connection], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        connection = Connection()
        await steps(exchange_over(connection, method="POST", **options), connection)

    asyncio.run(run())


def test_a_body_is_read_as_it_comes() -> None:
    async def steps(exchange: HttpExchange, _connection: Connection) -> None:
        waiting = asyncio.ensure_future(exchange.receive())
        await asyncio.sleep(0)
        assert not waiting.done()
        exchange.add(b"a")
        exchange.add(b"b")
        assert await waiting == {"type": "http.request", "body": b"ab", "more_body": True}
        exchange.add(b"c")
        exchange.end()
        assert await exchange.receive() == {"type": "http.request", "body": b"c", "more_body": False}

    reading(steps)


def test_a_body_that_no_one_reads_is_not_taken_from_the_socket() -> None:
    async def steps(exchange: HttpExchange, connection: Connection) -> None:
        exchange.add(bytes(HIGH_WATER_LIMIT))
        assert not connection.transport.is_paused
        exchange.add(b"!")
        assert connection.transport.is_paused
        assert len((await exchange.receive())["body"]) == HIGH_WATER_LIMIT + 1
        assert not connection.transport.is_paused

    reading(steps)


def test_a_client_is_told_to_go_on_once_and_only_when_its_body_is_wanted() -> None:
    async def steps(exchange: HttpExchange, connection: Connection) -> None:
        assert connection.transport.writes == []
        waiting = asyncio.ensure_future(exchange.receive())
        await asyncio.sleep(0)
        exchange.add(b"a")
        await waiting
        exchange.end()
        await exchange.receive()
        assert connection.transport.writes == [b"HTTP/1.1 100 Continue\r\n\r\n"]

    reading(steps, expects=True)


def test_a_refused_body_is_never_asked_for() -> None:
    writes, _ = written(answering(start(413, LENGTH), part(b"hello")), expects=True)
    assert not b"".join(writes).startswith(b"HTTP/1.1 100")


def test_who_waits_for_a_body_learns_that_the_client_has_left() -> None:
    async def steps(exchange: HttpExchange, connection: Connection) -> None:
        waiting = asyncio.ensure_future(exchange.receive())
        await asyncio.sleep(0)
        connection.is_lost = True
        exchange.notify()
        assert await waiting == {"type": "http.disconnect"}
        assert await exchange.receive() == {"type": "http.disconnect"}

    reading(steps)


def scopes_of(*octets: bytes) -> list[Scope]:
    """What the application is shown, one connection each; nothing for what is refused before."""
    found: list[Scope] = []

    async def application(scope: Scope, _receive: Receive, send: Send) -> None:
        found.append(scope)
        await answering(start(200, LENGTH), part(b"hello"))(scope, _receive, send)

    async def run() -> None:
        config: Any = SimpleNamespace(loaded_app=application)
        connections = Connections(Server(max_connections_per_address=1_000))
        for each in octets:
            state, transport = ServerState(), Transport()
            made = HttpProtocol(config, state, {}, connections=connections)
            made.connection_made(transport)  # type: ignore[arg-type]
            made.data_received(each)
            await asyncio.gather(*state.tasks)
            made.connection_lost(None)

    asyncio.run(run())
    return [scope for scope in found if "identity.refusal" not in scope]


def test_a_target_is_split_as_httptools_splits_it() -> None:
    octets = [bytes([each]) for each in range(256)]
    forms = (b"/a%bc?x=1", b"/a?x%by?z", b"//%b/c", b"http://host/a%b?c", b"/%%4%b")
    targets = [form.replace(b"%b", each) for form in forms for each in octets]
    targets += [b"/", b"/?", b"*", b"/a#b?c", b"/a?b#c"]
    shown = scopes_of(*(b"GET %b HTTP/1.1\r\nHost: h\r\n\r\n" % target for target in targets))
    assert len(shown) > 4 * 80
    split = {(scope["raw_path"], scope["query_string"]) for scope in shown}
    assert split <= set(_split(targets))


def _split(targets: Iterable[bytes]) -> Iterable[tuple[bytes, bytes]]:
    for target in targets:
        try:
            parsed = httptools.parse_url(target)
        except httptools.HttpParserError:
            continue
        yield parsed.path, parsed.query or b""


def test_a_server_that_stops_answers_what_it_has_begun() -> None:
    async def run() -> None:
        may_answer = asyncio.Event()

        async def application(_scope: Scope, _receive: Receive, send: Send) -> None:
            await may_answer.wait()
            await answering(start(200, LENGTH), part(b"hello"))(_scope, _receive, send)

        config: Any = SimpleNamespace(loaded_app=application)
        state, idle, busy = ServerState(), Transport(), Transport()
        connections = Connections(Server())
        for transport in (idle, busy):
            made = HttpProtocol(config, state, {}, connections=connections)
            made.connection_made(transport)  # type: ignore[arg-type]
        made.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        for each in list(state.connections):
            each.shutdown()
        assert idle.is_closed
        assert not busy.is_closed
        may_answer.set()
        await asyncio.gather(*state.tasks)
        assert busy.writes[0].endswith(b"connection: close\r\n\r\nhello")
        assert busy.is_closed

    asyncio.run(run())


def test_pipelined_requests_are_answered_in_order_and_one_at_a_time() -> None:
    async def run() -> None:
        seen: list[bytes] = []
        at_work = 0

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            nonlocal at_work
            at_work += 1
            assert at_work == 1
            body = (await receive())["body"]
            await asyncio.sleep(0)
            seen.append(scope["raw_path"] + body)
            at_work -= 1
            await answering(start(200, LENGTH), part(b"hello"))(scope, receive, send)

        config: Any = SimpleNamespace(loaded_app=application)
        state, transport = ServerState(), Transport()
        made = HttpProtocol(config, state, {}, connections=Connections(Server()))
        made.connection_made(transport)  # type: ignore[arg-type]
        requests = [b"POST /%d HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n\r\n%d" % (each, each) for each in range(5)]
        made.data_received(b"".join(requests))
        while state.tasks:
            await asyncio.gather(*state.tasks)
        assert seen == [b"/%d%d" % (each, each) for each in range(5)]
        assert len(transport.writes) == 5
        assert state.total_requests == 5

    asyncio.run(run())


def test_a_connection_that_has_ended_leaves_nothing_to_the_collector() -> None:
    async def run() -> weakref.ref[HttpProtocol]:
        config: Any = SimpleNamespace(loaded_app=answering(start(200, LENGTH), part(b"hello")))
        state = ServerState()
        made = HttpProtocol(config, state, {}, connections=Connections(Server()))
        made.connection_made(Transport())  # type: ignore[arg-type]
        made.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 2)
        while state.tasks:
            await asyncio.gather(*state.tasks)
        made.connection_lost(None)
        return weakref.ref(made)

    gc.disable()
    try:
        assert asyncio.run(run())() is None
    finally:
        gc.enable()


def test_the_protocol_is_what_uvicorn_makes() -> None:
    """Its server calls a protocol class by these names and reads these of its state."""
    config = uvicorn.Config(answering(), http=HttpProtocol, ws="none", lifespan="off", log_config=None)  # type: ignore[arg-type]
    config.load()
    assert config.http_protocol_class is HttpProtocol  # type: ignore[comparison-overlap]
    assert {"connections", "tasks", "total_requests", "default_headers"} <= set(vars(ServerState()))


class AtOnce:
    """Answers a GET of /now at once, and everything else later."""

    def __init__(self, lines: bytes = b"content-length: 5\r\n") -> None:
        self.lines = lines
        self.later: list[bytes] = []

    def at_once(self, scope: Scope) -> tuple[int, bytes, int, bytes] | None:
        return (200, self.lines, 1, b"hello") if scope["raw_path"] == b"/now" else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.later.append(scope["raw_path"])
        await answering(start(200, LENGTH), part(b"later"))(scope, receive, send)


def asked_at_once(application: AtOnce, octets: bytes, *, unread: bool = False) -> tuple[Transport, int]:
    """The transport after ``octets``, and how many were answered without a task."""

    async def run() -> tuple[Transport, int]:
        config: Any = SimpleNamespace(loaded_app=application)
        state, transport = ServerState(), Transport()
        made = HttpProtocol(config, state, {}, connections=Connections(Server()))
        made.connection_made(transport)  # type: ignore[arg-type]
        if unread:
            made.flow.pause_writing()
        made.data_received(octets)
        at_once = len(transport.writes)
        made.flow.resume_writing()
        while state.tasks:
            await asyncio.gather(*state.tasks)
        assert state.total_requests == len(transport.writes)
        return transport, at_once

    return asyncio.run(run())


def get(path: bytes, *fields: bytes) -> bytes:
    return b"\r\n".join([b"GET %b HTTP/1.1" % path, b"Host: h", *fields, b"", b""])


@pytest.mark.parametrize(
    ("octets", "arrived"),
    [
        ([b"Content-Length: 4\r\n\r\nbody"], b"body"),
        ([b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"], b"body"),
        ([b"Content-Length: 4\r\n\r\nbo", b"dy"], None),
        ([b"Transfer-Encoding: chunked\r\n\r\n2\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n"], None),
        ([b"Content-Length: 5\r\n\r\nbody"], None),
        ([b"Transfer-Encoding: chunked\r\n\r\n4\r\nbody\r\nx"], None),
        ([b"\r\n"], None),
    ],
)
def test_a_body_that_is_here_in_one_part_stands_in_the_scope(octets: list[bytes], arrived: bytes | None) -> None:
    async def run() -> object:
        found: list[Scope] = []

        async def application(scope: Scope, receive: Receive, send: Send) -> None:
            found.append(scope)

        config: Any = SimpleNamespace(loaded_app=application)
        state = ServerState()
        made = HttpProtocol(config, state, {}, connections=Connections(Server()))
        made.connection_made(Transport())  # type: ignore[arg-type]
        for part_of_it in [b"POST / HTTP/1.1\r\nHost: h\r\n" + octets[0], *octets[1:]]:
            made.data_received(part_of_it)
        await asyncio.gather(*state.tasks)
        return found[0].get("identity.body")

    assert asyncio.run(run()) == arrived


def test_what_is_known_is_answered_without_a_task() -> None:
    transport, at_once = asked_at_once(AtOnce(), get(b"/now") + get(b"/now"))
    assert transport.writes == [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"] * 2
    assert (at_once, transport.is_closed) == (2, False)


def post(path: bytes, *fields: bytes, body: bytes = b"body") -> bytes:
    head = b"\r\n".join([b"POST %b HTTP/1.1" % path, b"Host: h", b"Content-Length: %d" % len(body), *fields, b"", b""])
    return head + body


def test_a_request_with_its_body_is_answered_without_a_task() -> None:
    transport, at_once = asked_at_once(AtOnce(), post(b"/now") + post(b"/now", b"Expect: 100-continue") + get(b"/now"))
    assert transport.writes == [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello"] * 3
    assert at_once == 3


@pytest.mark.parametrize("cut", range(1, 6))
def test_a_request_without_the_rest_of_its_body_waits_in_a_task(cut: int) -> None:
    application = AtOnce()
    _, at_once = asked_at_once(
        application, post(b"/now", b"Expect: 100-continue")[:-cut] if cut < 5 else post(b"/now")[:-4]
    )
    assert (at_once, application.later) == (0, [b"/now"])


@pytest.mark.parametrize("size", [4_000, 9_000, 40_000])
def test_a_request_of_many_pieces_is_begun_once(size: int) -> None:
    application = AtOnce()
    octets = post(b"/now", body=bytes(size)) + post(b"/later", body=bytes(size)) + post(b"/now", body=bytes(size))
    transport, at_once = asked_at_once(application, octets)
    assert [each[-5:] for each in transport.writes] == [b"hello", b"later", b"hello"]
    assert (at_once, application.later) == (1, [b"/later"])


@pytest.mark.parametrize(
    "broken",
    [
        b"POST /now HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nx\r\n",
        b"POST /now HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbodyx",
    ],
)
def test_a_body_that_breaks_is_refused_and_never_answered_at_once(broken: bytes) -> None:
    application = AtOnce()
    transport, at_once = asked_at_once(application, broken)
    assert (at_once, application.later) == (0, [b"/now"])
    assert transport.is_closed


def test_what_breaks_behind_a_request_leaves_its_answer() -> None:
    application = AtOnce()
    transport, at_once = asked_at_once(application, post(b"/now") + b"no request at all\r\n\r\n")
    assert (at_once, application.later) == (1, [b"/"])
    assert transport.writes[0].endswith(b"hello")
    assert transport.is_closed


def test_of_many_requests_in_one_go_the_first_are_answered_at_once_and_others_get_their_turn() -> None:
    application = AtOnce()
    transport, at_once = asked_at_once(application, get(b"/now") * (2 * AT_ONCE_IN_A_GO))
    assert at_once == AT_ONCE_IN_A_GO
    assert len(transport.writes) == 2 * AT_ONCE_IN_A_GO
    assert len(application.later) == AT_ONCE_IN_A_GO


def test_what_is_known_waits_for_the_requests_before_it() -> None:
    application = AtOnce()
    transport, at_once = asked_at_once(application, get(b"/now") + get(b"/later") + get(b"/now"))
    assert [each[-5:] for each in transport.writes] == [b"hello", b"later", b"hello"]
    assert (at_once, application.later) == (1, [b"/later"])


def test_behind_a_request_that_ends_the_connection_nothing_is_done() -> None:
    application = AtOnce()
    transport, _ = asked_at_once(application, get(b"/now", b"Connection: close") + get(b"/later") + get(b"/now"))
    assert transport.writes == [b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello"]
    assert (transport.is_closed, application.later) == (True, [])


def test_to_a_client_that_does_not_read_nothing_is_written_at_once() -> None:
    application = AtOnce()
    transport, at_once = asked_at_once(application, get(b"/now"), unread=True)
    assert (at_once, application.later) == (0, [b"/now"])
    assert transport.writes[0].endswith(b"later")


def test_a_refused_request_is_never_answered_at_once() -> None:
    application = AtOnce()
    _, at_once = asked_at_once(application, b"GET /now HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n")
    assert (at_once, application.later) == (0, [b"/"])


def test_no_answer_at_once_holds_a_control_character() -> None:
    connection = Connection()
    exchange = exchange_over(connection)
    with pytest.raises(RuntimeError):
        exchange.answer(200, b"etag: a\r\nset-cookie: b\r\n", 1, b"")
    assert connection.transport.writes == []
