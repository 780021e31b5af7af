"""Pieces of HTTP/1.1, valid and broken, in any order and cut anywhere, on raw sockets."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from typing import Final
from urllib.parse import urlsplit

import httpx
import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from identity_commands.local_server import LocalServer

ROUNDS: Final = max(1, int(os.environ.get("IDENTITY_ROUNDS", "100")) // 2)
# How long one who sends half a request waits here for an answer: less than the service's own deadlines.
SECONDS: Final = 0.3
LONGEST: Final = 1 << 20

METHODS = st.sampled_from(
    [
        b"GET",
        b"POST",
        b"HEAD",
        b"PUT",
        b"DELETE",
        b"PATCH",
        b"OPTIONS",
        b"TRACE",
        b"CONNECT",
        b"get",
        b"G E T",
        b"PRI",
        b"",
    ]
)
TARGETS = st.sampled_from(
    [
        *(
            b"/health",
            b"/api/v1/dids",
            b"/api/v1/ledger/tile/%19/x",
            b"/api/v1/ledger/tile/0/000",
            b"/api/v1/dids/did:ids:x/log",
        ),
        *(
            b"/..%2f..%2fetc/passwd",
            b"//",
            b"/%",
            b"/%zz",
            b"/%00",
            b"/\xff",
            b"*",
            b"http://other.example/health",
            b"/" + b"a" * 9000,
        ),
        *(
            b"/api/v1/dids?limit=1&limit=2",
            b"/health?" + b"a=b&" * 400,
            b"/health#x",
            b"/health\x7f",
            b"",
            b"/api/v1//dids",
            b"/docs",
        ),
    ]
)
VERSIONS = st.sampled_from(
    [b"HTTP/1.1", b"HTTP/1.0", b"HTTP/2.0", b"HTTP/0.9", b"HTTP/1.1 ", b"http/1.1", b"HTTP/1.01", b""]
)
HEADERS = st.sampled_from(
    [
        *(
            b"Host: localhost",
            b"Host: a\r\nHost: b",
            b"Host:",
            b"Connection: close",
            b"Connection: keep-alive, upgrade",
            b"Upgrade: websocket",
        ),
        *(
            b"Content-Length: 2",
            b"Content-Length: 0",
            b"Content-Length: -1",
            b"Content-Length: 2, 2",
            b"Content-Length: 99999999999999999999",
        ),
        *(
            b"Content-Length: 2\r\nContent-Length: 3",
            b"Content-Length: 0x2",
            b"Content-Length: +2",
            b"Content-Length : 2",
        ),
        *(
            b"Transfer-Encoding: chunked",
            b"Transfer-Encoding: gzip, chunked",
            b"Transfer-Encoding: chunked, identity",
            b"TE: trailers",
        ),
        *(
            b"Transfer-Encoding:\x0bchunked",
            b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
            b"Expect: 100-continue",
            b"Expect: 200",
        ),
        *(
            b"Content-Type: application/json",
            b"Content-Type: application/json; charset=utf-16",
            b"Content-Encoding: gzip",
            b"Accept: */*;q=2",
        ),
        *(
            b"Authorization: ApiKey x",
            b"Authorization: DIDAuth " + b"A" * 500,
            b"Authorization: Bearer ..",
            b"X-API-Key: \xff",
            b"X-API-Key: a\x00b",
        ),
        *(
            b"X-Request-Id: " + b"a" * 300,
            b"X-Request-Id: \xe4",
            b"If-Match: *",
            b"Idempotency-Key: " + b"k" * 300,
            b"Cookie: " + b"a=b; " * 90,
        ),
        *(
            b" folded: line",
            b"\tfolded",
            b"no colon",
            b": no name",
            b"a\x00b: c",
            b"a: b\x00c",
            b"a:b" * 500,
            b"X: " + b"y" * 20_000,
        ),
    ]
)
BODIES = st.sampled_from(
    [
        *(
            b"",
            b"{}",
            b'{"',
            b"[" * 1000,
            b'{"method":"ids"}',
            b"\xff\xfe",
            b"2\r\n{}\r\n0\r\n\r\n",
            b"2\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
        ),
        *(
            b"ffffffffffffffff\r\n",
            b"-1\r\n",
            b"2;ext=1\r\n{}\r\n0\r\n\r\n",
            b"2\n{}\n0\n\n",
            b"2\r\n{}X\r\n0\r\n\r\n",
            b"0" * 500,
            b"GET / HTTP/1.1\r\n\r\n",
        ),
    ]
)
ENDS = st.sampled_from([b"\r\n"] * 6 + [b"\n", b"\r", b"\r\r\n", b""])


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """Up to three requests; most pieces are good ones, so that the broken ones reach further in."""
    data = b""
    for _ in range(draw(st.integers(1, 3))):
        start = b" ".join((draw(METHODS), draw(TARGETS), draw(VERSIONS)))
        if draw(st.booleans()):
            start = draw(st.sampled_from([b"GET /health HTTP/1.1", b"POST /api/v1/dids HTTP/1.1"]))
        lines = [start, *draw(st.lists(HEADERS, max_size=5))]
        data += b"".join(line + draw(ENDS) for line in lines) + draw(ENDS) + draw(BODIES)
    if draw(st.booleans()):
        data = data[: draw(st.integers(0, len(data)))]
    return data


@pytest.fixture(scope="module")
def address(service: LocalServer) -> Iterator[tuple[str, int]]:
    parts = urlsplit(service.url)
    yield str(parts.hostname), int(parts.port or 0)
    with httpx.Client(base_url=service.url, trust_env=False) as http:
        assert http.get("/health").status_code == 200
    told = service.log.read_text(errors="replace")
    assert "Traceback" not in told, told[-4000:]


def answers(address: tuple[str, int], data: bytes, cuts: list[int]) -> bytes:
    """What comes back until the service closes or says no more; never waits for more than the service may need."""
    received = b""
    with socket.create_connection(address, timeout=10) as connection:
        try:
            for begin, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
                connection.sendall(data[begin:end])
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(SECONDS)
            while len(received) < LONGEST and (more := connection.recv(65_536)):
                received += more
        except OSError:
            pass  # A connection that is closed, reset or kept waiting is an answer too.
    return received


def check(received: bytes) -> None:
    """Every answer has a status below 500 and, where it refuses, the Error shape."""
    while received.startswith(b"HTTP/1.1 "):
        head, separator, rest = received.partition(b"\r\n\r\n")
        status = int(head[9:12])
        assert status < 500, head
        if status == 100 or not separator:
            received = rest
            continue
        headers = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        length = int(headers.get(b"content-length", b"0"))
        if status >= 400 and 0 < length <= len(rest) and not rest.startswith(b"HTTP/1.1 "):
            assert set(orjson.loads(rest[:length])) == {"error"}, rest[:200]
        # The answer to HEAD has a length and no body.
        received = rest if rest.startswith(b"HTTP/1.1 ") else rest[length:]
    assert received == b"" or len(received) < LONGEST


def test_pieces_in_any_order(address: tuple[str, int]) -> None:
    @settings(
        max_examples=ROUNDS,
        deadline=None,
        database=None,
        derandomize="IDENTITY_ROUNDS" not in os.environ,
        suppress_health_check=list(HealthCheck),
    )
    @given(requests(), st.lists(st.integers(0, 3000), max_size=4))
    def run(data: bytes, cuts: list[int]) -> None:
        check(answers(address, data, sorted(cut % (len(data) + 1) for cut in cuts)))

    run()
