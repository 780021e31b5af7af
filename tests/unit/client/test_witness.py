"""The client's side of add-checkpoint, against witnesses that do what no witness should."""

from __future__ import annotations

import asyncio
import gzip
import socket
from collections.abc import Callable

import httpx
import pytest

from identity_core.client.witness import MAX_ANSWER, HttpWitness
from identity_core.domain.ledger.witness import Stale
from identity_core.ports.witnesses import WitnessFailed
from tests.lying_witness import lying_witness, whole

SIZE = "Content-Type: text/x.tlog.size"


def asked(prefix: str, seconds: float = 60.0) -> bytes:
    async def scenario() -> bytes:
        async with httpx.AsyncClient(trust_env=False) as http:
            return await HttpWitness(http, prefix, deadline_seconds=seconds).add_checkpoint(b"old 0\n\n")

    return asyncio.run(scenario())


def test_an_answer_is_its_octets_and_a_conflict_its_size() -> None:
    with lying_witness(lambda it, body: it.sendall(whole("200 OK", b"answer to " + body))) as prefix:
        assert asked(prefix) == b"answer to old 0\n\n"
        assert asked(f"{prefix}/") == b"answer to old 0\n\n"
    with lying_witness(lambda it, _: it.sendall(whole("409 Conflict", b"12\n", SIZE))) as prefix:
        with pytest.raises(Stale) as found:
            asked(prefix)
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
        (lambda it, _: it.sendall(whole("200 OK", BOMB, "Content-Encoding: gzip")), "packed"),
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
        asked(prefix)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("answer", [half, lambda it, _: it.recv(1)])
def test_an_answer_that_never_ends_is_given_up(answer: Callable[[socket.socket, bytes], None]) -> None:
    with lying_witness(answer) as prefix, pytest.raises(WitnessFailed, match="no answer within"):
        asked(prefix, 0.2)


def test_nobody_listens() -> None:
    with pytest.raises(WitnessFailed, match="no answer"):
        asked("http://127.0.0.1:9")
