"""When ``BoundedProtocol`` writes: the head of an answer goes out with the first part of its body."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import uvicorn
from uvicorn.server import ServerState

from identity_core.cli.connections import BoundedProtocol, Connections
from identity_core.settings.server import Server
from tests.fake_transport import FakeTransport


def start(status: int, *fields: tuple[bytes, bytes]) -> dict[str, Any]:
    return {"type": "http.response.start", "status": status, "headers": list(fields)}


def part(body: bytes, *, more: bool = False) -> dict[str, Any]:
    return {"type": "http.response.body", "body": body, "more_body": more}


def writes(sent_bytes: bytes, messages: list[dict[str, Any]], *, reads: bool = False) -> FakeTransport:
    """Answer the requests in ``sent_bytes`` with ``messages`` each, and return the transport."""

    async def application(_: Any, receive: Any, send: Any) -> None:
        if reads:
            await receive()
        for message in messages:
            await send(message)

    return asyncio.run(answered(application, sent_bytes))


async def answered(application: Any, sent_bytes: bytes) -> FakeTransport:
    transport = FakeTransport()
    protocol = await fed(application, transport, sent_bytes)
    # The end of the loop cancels what still waits for its client.
    protocol.transport = protocol.cycle.transport = FakeTransport()
    return transport


async def fed(application: Any, transport: FakeTransport, sent_bytes: bytes) -> BoundedProtocol:
    config = uvicorn.Config(application, ws="none", lifespan="off", log_config=None, access_log=False)
    connections = Connections(Server())
    protocol = BoundedProtocol(config, ServerState(), {}, asyncio.get_running_loop(), connections=connections)
    protocol.connection_made(transport)
    protocol.data_received(sent_bytes)
    for _ in range(20):
        await asyncio.sleep(0)
    return protocol


LENGTH = (b"content-length", b"2")
GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


def test_an_answer_is_one_write() -> None:
    transport = writes(GET, [start(200, LENGTH), part(b"{}")])
    assert len(transport.writes) == 1
    assert transport.writes[0].startswith(b"HTTP/1.1 200 ")
    assert transport.writes[0].endswith(b"\r\n\r\n{}")


def test_pipelined_answers_are_whole_and_in_order() -> None:
    transport = writes(GET * 3, [start(200, LENGTH), part(b"{}")])
    answers = b"".join(transport.writes).split(b"HTTP/1.1 200 ")[1:]
    assert [each.partition(b"\r\n\r\n")[2] for each in answers] == [b"{}"] * 3


@pytest.mark.parametrize(
    ("sent_bytes", "messages"),
    [
        (GET.replace(b"GET", b"HEAD"), [start(200, LENGTH), part(b"")]),
        (GET, [start(304), part(b"")]),
        (GET, [start(200, (b"content-length", b"0")), part(b"")]),
        (GET.replace(b"HTTP/1.1", b"HTTP/1.0"), [start(204), part(b"")]),
        (GET.replace(b"GET", b"HEAD").replace(b"HTTP/1.1", b"HTTP/1.0"), [start(200, LENGTH), part(b"")]),
    ],
)
def test_the_head_of_an_empty_answer_is_written(sent_bytes: bytes, messages: list[dict[str, Any]]) -> None:
    transport = writes(sent_bytes, messages)
    assert len(transport.writes) == 1
    assert transport.writes[0].endswith(b"\r\n\r\n")
    assert transport.has_ended == (b"HTTP/1.0" in sent_bytes)


def test_parts_are_written_as_they_come() -> None:
    transport = writes(GET, [start(200), part(b"", more=True), part(b"a", more=True), part(b"b")])
    assert [each.rpartition(b"\r\n\r\n")[2] for each in transport.writes[:1]] == [b""]
    assert transport.writes[1:] == [b"1\r\na\r\n", b"1\r\nb\r\n0\r\n\r\n"]


def test_a_client_that_expects_100_is_told_to_continue() -> None:
    sent_bytes = b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n"
    transport = writes(sent_bytes, [start(200, LENGTH), part(b"{}")], reads=True)
    assert transport.writes == [b"HTTP/1.1 100 Continue\r\n\r\n"]


def test_an_answer_that_breaks_off_closes_the_connection() -> None:
    transport = writes(GET, [start(200, LENGTH), part(b"{}}")])
    assert transport.has_ended
    assert b"{}}" not in b"".join(transport.writes)


POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\n"


@pytest.mark.parametrize(("requests", "is_late"), [(POST, True), (GET + POST, False), (GET, False)])
def test_only_a_body_that_is_awaited_is_late(requests: bytes, is_late: bool) -> None:
    """A pipelined body is not read while the request before it is answered, and that answer has no deadline here."""

    async def application(scope: Any, receive: Any, _: Any) -> None:
        if scope["method"] == "POST":
            await receive()
        await asyncio.Event().wait()

    async def scenario() -> bool:
        protocol = await fed(application, FakeTransport(), requests)
        try:
            return protocol.end_if_late(protocol.loop.time() + 600)
        finally:
            protocol.transport = protocol.cycle.transport = FakeTransport()

    assert asyncio.run(scenario()) is is_late
