"""Offers to upgrade in generated streams of HTTP/1.1: ``BoundedProtocol`` reads the head again, and the framing must stay the same.

The protocol runs in this process on a transport that collects what is written. ``IDENTITY_FUZZ_SECONDS`` is for how many seconds
each test makes new examples; without it the same examples run each time.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple, cast

import pytest
import uvicorn
from hypothesis import HealthCheck, Phase, core, given, seed, settings
from hypothesis import strategies as st
from uvicorn.server import ServerState

from identity_core.cli.connections import BoundedProtocol, Connections
from identity_core.settings.server import Server
from tests.fake_transport import FakeTransport

SECONDS: Final = float(os.environ.get("IDENTITY_FUZZ_SECONDS", "0"))
EXAMPLES: Final = 1_000 if SECONDS else 50
SUBSTITUTES: Final = b"\r\n\t :;,0aU\x00\xff"

OFFERS = st.sampled_from(
    [
        b"Connection: Upgrade",
        b"connection:keep-alive , uPGRADE",
        b"Connection: upgrade,HTTP2-Settings",
        b"Upgrade: h2c",
        b"UPGRADE:websocket",
        b"upgrade: \t TLS/1.0, h2c \t",
        b"Upgrade:",
        b"Upgrade: Upgrade: h2c",
        b"X-Upgrade: h2c",
        b"Upgrade-Insecure-Requests: 1",
    ]
)
FIELDS = st.sampled_from(
    [
        b"Host: a",
        b"Accept: */*",
        b"X-A:",
        b"X-A: \t  b \xff ",
        b"x-long: " + b"y" * 3_900,
        b"Cookie: Upgrade: h2c",
        b"Expect: 100-continue",
        b"TE: trailers",
    ]
)
METHODS = st.sampled_from([b"GET", b"POST", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"M-SEARCH", b"PROPFIND"])
TARGETS = st.sampled_from(
    [b"/", b"/a?b=Upgrade:%20h2c", b"/%zz;x", b"http://other.example/a?", b"/" + b"a" * 4_080, b"/#b"]
)
BODIES = st.one_of(
    st.sampled_from(
        [b"", b"GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n", b"0\r\n\r\n", b"\r\n\r\n", b"Upgrade: h2c\r\n\r\n"]
    ),
    st.binary(max_size=40),
    st.integers(1, 9_000).map(lambda size: b"z" * size),
)


class Message(NamedTuple):
    """A request as its application reads it, without ``Upgrade`` fields. ``body`` is None if it did not arrive whole."""

    method: str
    target: bytes
    fields: Sequence[tuple[bytes, bytes]]
    body: bytes | None


class Sent(NamedTuple):
    """The bytes of a request, what must be read of it, and whether the connection closes behind it."""

    wire: bytes
    read: Message
    is_last: bool


@st.composite
def messages(draw: st.DrawFn) -> Sent:
    """Draw a valid request, with or without an offer, whose body has a length, chunks, or is missing."""
    method, target, body = draw(METHODS), draw(TARGETS), draw(BODIES)
    lines = draw(st.lists(st.one_of(OFFERS, FIELDS), max_size=6))
    framing, version, tail = draw(st.sampled_from(["none", "length", "chunked"])), b"1.1", b""
    if framing == "length":
        framed, tail = [b"Content-Length: %d" % len(body)], body
        version = draw(st.sampled_from([b"1.1", b"1.1", b"1.1", b"1.0"]))
    elif framing == "chunked":
        framed, cut = [b"Transfer-Encoding: chunked"], draw(st.integers(0, len(body)))
        chunks = b"".join(b"%X;a=b\r\n%b\r\n" % (len(part), part) for part in (body[:cut], body[cut:]) if part)
        tail = chunks + b"0\r\n" + draw(st.sampled_from([b"", b"Upgrade: h2c\r\n", b"X-T: u\r\n"])) + b"\r\n"
    else:
        framed, body = [], b""
    is_closing = draw(st.integers(0, 9)) == 0
    lines = [*lines, *framed, *([b"Connection: close"] if is_closing else [])]
    lines = draw(st.permutations(lines))
    fields = [(line.partition(b":")[0].lower(), line.partition(b":")[2].strip(b" \t")) for line in lines]
    wire = (
        b"%b %b HTTP/%b\r\n" % (method, target, version) + b"".join(line + b"\r\n" for line in lines) + b"\r\n" + tail
    )
    read = Message(method.decode(), target, [field for field in fields if field[0] != b"upgrade"], body)
    return Sent(wire, read, is_closing or version == b"1.0")


async def read(pieces: Sequence[bytes]) -> tuple[list[Message], list[int]]:
    """Feed a connection and return the requests that its application read, and the statuses of the answers."""
    found: list[Message] = []

    async def application(scope: Any, receive: Callable[[], Any], send: Callable[[Any], Any]) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                found.append(Message(scope["method"], scope["raw_path"], scope["headers"], None))
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
        found.append(Message(scope["method"], scope["raw_path"], scope["headers"], body))
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body", "body": b""})

    config = uvicorn.Config(application, ws="none", lifespan="off", log_config=None, access_log=False)
    state, transport = ServerState(), FakeTransport()
    connections, loop = Connections(Server()), asyncio.get_running_loop()
    # No time passes: on a busy machine a deadline would otherwise close the connection between two pieces.
    now = loop.time()
    loop.time = lambda: now  # type: ignore[method-assign]
    protocol = BoundedProtocol(config, state, {}, loop, connections=connections)
    protocol.connection_made(transport)
    for piece in pieces:
        protocol.data_received(piece)
        # Of the pieces of one stream, some arrive while a request is answered.
        for _ in range(len(piece) % 4):
            await asyncio.sleep(0)
    for _ in range(40):
        await asyncio.sleep(0)
    protocol.connection_lost(None)
    # The wait for the applications has a limit in real time.
    del loop.time
    if state.tasks:
        await asyncio.wait(state.tasks, timeout=10)
    return found, [
        int(answer[:3]) for answer in b"".join(transport.writes).split(b"HTTP/1.1 ")[1:] if answer[:3] != b"100"
    ]


def split(wire: bytes, cuts: Sequence[int]) -> list[bytes]:
    """Return ``wire`` in pieces."""
    places = sorted({cut % len(wire) for cut in cuts} - {0})
    return [wire[begin:end] for begin, end in zip([0, *places], [*places, len(wire)], strict=True)]


def run_turn(run: Callable[[], None], turn: int) -> None:
    """Run the examples of one turn. Without a seed of its own, each turn under ``--hypothesis-seed`` would repeat the first."""
    chosen = cast("int | str | None", core.global_force_seed)
    if chosen is not None:
        seed(f"{chosen} {turn}")(run)
    run()


def repeat(run: Callable[[], None]) -> None:
    """Run the examples once, and new ones until ``SECONDS`` are over."""
    end = time.monotonic() + SECONDS
    for turn in itertools.count():
        run_turn(run, turn)
        if time.monotonic() >= end:
            return


FUZZED = settings(
    max_examples=EXAMPLES,
    deadline=None,
    database=None,
    derandomize=not SECONDS,
    suppress_health_check=list(HealthCheck),
)
CUTS = st.lists(st.integers(0, 1 << 20), max_size=6)


def common_answer(message: Message) -> tuple[str, Sequence[tuple[bytes, bytes]], bytes | None]:
    """Return what a request and its expectation have in common. ``Upgrade`` stays where the head has no offer, and the parser leaves
    whitespace behind a value."""
    fields = [(name, value.rstrip(b" \t")) for name, value in message.fields if name != b"upgrade"]
    return message.method, fields, message.body


def path_of(target: bytes) -> bytes:
    """Return the path of a request target (RFC 9112 §3.2)."""
    path = target.partition(b"#")[0].partition(b"?")[0]
    return b"/" + path.split(b"/", 3)[3] if path.startswith(b"http://") else path


def test_offers_do_not_change_what_valid_requests_are_read() -> None:
    @FUZZED
    @given(st.lists(messages(), min_size=1, max_size=4), CUTS)
    def run(sent: list[Sent], cuts: list[int]) -> None:
        last = next((place for place, each in enumerate(sent) if each.is_last), len(sent) - 1)
        wanted = [each.read for each in sent[: last + 1]]
        wire = b"".join(each.wire for each in sent)
        for pieces in ([wire], split(wire, cuts)):
            found, answers = asyncio.run(read(pieces))
            assert list(map(common_answer, found)) == list(map(common_answer, wanted)), pieces
            assert [each.target for each in found] == [path_of(each.target) for each in wanted], pieces
            assert answers == [200] * len(wanted), pieces

    repeat(cast("Callable[[], None]", run))


def test_edited_streams_are_read_alike_however_they_are_cut() -> None:
    @FUZZED
    @given(
        st.lists(messages(), min_size=1, max_size=3),
        CUTS,
        st.lists(
            st.tuples(st.integers(0, 1 << 20), st.sampled_from(SUBSTITUTES), st.integers(0, 2)), min_size=1, max_size=3
        ),
    )
    def run(sent: list[Sent], cuts: list[int], edits: list[tuple[int, int, int]]) -> None:
        wire = b"".join(each.wire for each in sent)
        for place, byte, removed in edits:
            start = place % len(wire)
            wire = wire[:start] + bytes([byte]) + wire[start + removed :]
        whole, parts = asyncio.run(read([wire])), asyncio.run(read(split(wire, cuts)))
        # Whether an application has begun to read a request that breaks off depends on time.
        found = [[each for each in messages if each.body is not None] for messages, _ in (whole, parts)]
        assert found[0] == found[1], split(wire, cuts)
        assert parts[1] == whole[1], split(wire, cuts)
        assert all(status in (200, 400, 431) for status in whole[1]), wire

    repeat(cast("Callable[[], None]", run))


def test_turns_differ_and_repeat_with_their_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(core, "global_force_seed", 445)

    def draw(turn: int) -> list[int]:
        drawn: list[int] = []

        @settings(max_examples=5, database=None, phases=[Phase.generate])
        @given(st.integers(1, 1 << 60))
        def run(value: int) -> None:
            drawn.append(value)

        run_turn(cast("Callable[[], None]", run), turn)
        return drawn

    assert draw(1) != draw(0)
    assert draw(1) == draw(1)
