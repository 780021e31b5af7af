"""The client's side of add-checkpoint, against witnesses that do what no witness should."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from identity_transparency.http_witness import MAX_ANSWER, HttpWitness
from identity_transparency.use_cases.feed import WitnessFailed

from identity_tlog.note import MAX_NOTE
from identity_tlog.witness import Stale
from tests.lying_witness import lying_witness, whole

SIZE = "Content-Type: text/x.tlog.size"


def ask_witness(prefix: str, seconds: float = 60.0) -> bytes:
    async def scenario() -> bytes:
        async with httpx.AsyncClient(trust_env=False) as http:
            return await HttpWitness(http, prefix, deadline_seconds=seconds).add_checkpoint(b"old 0\n\n")

    return asyncio.run(scenario())


def test_an_answer_is_its_octets_and_a_conflict_its_size() -> None:
    with lying_witness(lambda it, body: it.sendall(whole("200 OK", b"answer to " + body))) as prefix:
        assert ask_witness(prefix) == b"answer to old 0\n\n"
        assert ask_witness(f"{prefix}/") == b"answer to old 0\n\n"
    with lying_witness(lambda it, _: it.sendall(whole("409 Conflict", b"12\n", SIZE))) as prefix:
        with pytest.raises(Stale) as found:
            ask_witness(prefix)
        assert found.value.size == 12


def half(it: socket.socket, _: bytes) -> None:
    it.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 4000\r\n\r\nx")
    it.recv(1)


BOMB = gzip.compress(bytes(50_000_000))
ELSEWHERE = "Location: http://127.0.0.1:9/add-checkpoint"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (lambda it, _: it.sendall(whole("409 Conflict", b"12\n")), "it answers 409 12"),
        (lambda it, _: it.sendall(whole("409 Conflict", b"12", SIZE)), "it answers 409"),
        (lambda it, _: it.sendall(whole("409 Conflict", b"-1\n", SIZE)), "it answers 409"),
        (lambda it, _: it.sendall(whole("409 Conflict", b"012\n", SIZE)), "it answers 409"),
        (lambda it, _: it.sendall(whole("409 Conflict", b"9" * 5000 + b"\n", SIZE)), "it answers 409"),
        (lambda it, _: it.sendall(whole("422 No", b"\x1b[31m\xff\nsecond line")), r"it answers 422 .\[31m.xff$"),
        (lambda it, _: it.sendall(whole("302 Found", b"", ELSEWHERE)), "it answers 302$"),
        (lambda it, _: it.sendall(whole("200 OK", b"x" * (MAX_ANSWER + 1))), "more than"),
        (lambda it, _: it.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 10_000_000), "more than"),
        (lambda it, _: it.sendall(whole("200 OK", BOMB, "Content-Encoding: gzip")), "compressed"),
        (lambda it, _: it.sendall(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 10_000_000), "no answer"),
        (lambda it, _: it.sendall(b"junk\r\n\r\n"), "no answer"),
        (lambda it, _: it.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"), "no answer"),
        (lambda it, _: it.close(), "no answer"),
    ],
)
def test_whatever_else_it_answers_is_a_failure_of_one_line(
    answer: Callable[[socket.socket, bytes], None], says: str
) -> None:
    with lying_witness(answer) as prefix, pytest.raises(WitnessFailed, match=says) as found:
        ask_witness(prefix)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("answer", [half, lambda it, _: it.recv(1)])
def test_an_answer_that_never_ends_is_given_up(answer: Callable[[socket.socket, bytes], None]) -> None:
    with lying_witness(answer) as prefix, pytest.raises(WitnessFailed, match="no answer within"):
        ask_witness(prefix, 0.2)


def latest(prefix: str) -> bytes | None:
    async def scenario() -> bytes | None:
        async with httpx.AsyncClient(trust_env=False) as http:
            return await HttpWitness(http, prefix, deadline_seconds=60).latest("id.example/log")

    return asyncio.run(scenario())


def test_last_cosignature_is_stored_under_origin_hash() -> None:
    paths = []

    class Monitored(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            self.connection.sendall(whole("200 OK", b"a note\n"))

        def log_message(self, *_: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Monitored) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        assert latest(f"http://127.0.0.1:{server.server_port}/w/") == b"a note\n"
        server.shutdown()
    # SHA-256 of "id.example/log".
    assert paths == ["/w/ed6c99cae531b02d71eb6f741f4c54684aa6f8a5e399c311d82fba4b12da0633/checkpoint"]
    with lying_witness(lambda it, _: it.sendall(whole("404 Not Found", b"nothing"))) as prefix:
        assert latest(prefix) is None


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (whole("200 OK", b"x" * (MAX_NOTE + 1)), "more than"),
        (whole("503 No", b"later"), "it answers 503 later"),
        (whole("204 Empty", b""), "it answers 204"),
    ],
)
def test_malformed_checkpoint_is_a_failure(answer: bytes, says: str) -> None:
    with lying_witness(lambda it, _: it.sendall(answer)) as prefix, pytest.raises(WitnessFailed, match=says):
        latest(prefix)


def test_nobody_listens() -> None:
    with pytest.raises(WitnessFailed, match="no answer"):
        ask_witness("http://127.0.0.1:9")
