"""Who sends no request, or none that ends: bytes without a bound and silence without one, one connection at a time.

The server has deadlines of tenths of a second; nothing here measures a time, but a wait of ``SECONDS`` that does not end
fails. Limits are written as numbers, not taken from the code.
"""

from __future__ import annotations

import itertools
import re
import socket
import time
from collections.abc import Iterable, Iterator

import pytest
from identity_commands.local_server import LocalServer

from tests.attack.connections import (
    SECONDS,
    Address,
    address_of,
    code_of,
    connected,
    is_closed_there,
    pour,
    read_to_the_end,
    reset,
    resident_octets,
    statuses,
    until,
)
from tests.attack.raw_http import corpus, exchange, request
from tests.attack.stranger import GENEROUS
from tests.servers import local_server

MEBIBYTE = 1 << 20
SHORT = {
    "IDENTITY_SERVER_HEADER_TIMEOUT_SECONDS": "0.4",
    "IDENTITY_SERVER_KEEP_ALIVE_TIMEOUT_SECONDS": "0.8",
    "IDENTITY_SERVER_BODY_TIMEOUT_SECONDS": "0.4",
    "IDENTITY_SERVER_WRITE_TIMEOUT_SECONDS": "0.8",
}
# Apart from the others: a server that a busy machine holds up looks at its clock before it looks at what has come meanwhile.
SHORTEST = SHORT | {"IDENTITY_SERVER_FIRST_BYTE_TIMEOUT_SECONDS": "0.4"}
LONG = {
    "IDENTITY_SERVER_FIRST_BYTE_TIMEOUT_SECONDS": "600",
    "IDENTITY_SERVER_HEADER_TIMEOUT_SECONDS": "600",
    "IDENTITY_SERVER_BODY_TIMEOUT_SECONDS": "600",
}
HEAD = b"GET /health HTTP/1.1\r\nHost: h\r\n"
CHUNKED = (
    b"POST /api/v1/dids HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
)


@pytest.fixture(scope="module", params=["1", "2"], ids=["1_process", "2_processes"])
def hasty(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """Yield a server that does not wait for a request that has begun."""
    with local_server("--workers", request.param, environment={**GENEROUS, **SHORT}) as server:
        yield server


@pytest.fixture(scope="module", params=["1", "2"], ids=["1_process", "2_processes"])
def hastiest(request: pytest.FixtureRequest) -> Iterator[LocalServer]:
    """Yield a server that waits for no client at all."""
    with local_server("--workers", request.param, environment={**GENEROUS, **SHORTEST}) as server:
        yield server


@pytest.fixture(scope="module")
def server() -> Iterator[LocalServer]:
    """One that would wait for minutes."""
    with local_server(environment={**GENEROUS, **LONG}) as server:
        yield server


@pytest.fixture
def door(server: LocalServer) -> Address:
    return address_of(server.url)


# What has no end: its name, how it begins, what is repeated, and the answer.
ENDLESS = [
    ("a header line", HEAD + b"X-A: ", b"a" * 4096, 431, "HEADERS_TOO_LARGE"),
    ("the name of a header", HEAD, b"a" * 4096, 431, "HEADERS_TOO_LARGE"),
    ("header lines", HEAD, b"a:b\r\n" * 800, 431, "HEADERS_TOO_LARGE"),
    ("a target", b"GET /", b"a" * 4096, 431, "HEADERS_TOO_LARGE"),
    ("a query", b"GET /health?", b"a" * 4096, 431, "HEADERS_TOO_LARGE"),
    ("empty lines before a request", b"", b"\r\n" * 2048, 431, "HEADERS_TOO_LARGE"),
    ("the extension of a chunk", CHUNKED + b"5;", b"a" * 4096, 431, "HEADERS_TOO_LARGE"),
    ("a trailer", CHUNKED + b"1\r\n{\r\n0\r\nX-A: ", b"a" * 4096, 431, "HEADERS_TOO_LARGE"),
    ("trailers", CHUNKED + b"1\r\n{\r\n0\r\n", b"a:b\r\n" * 800, 431, "HEADERS_TOO_LARGE"),
]


@pytest.mark.parametrize(
    ("begin", "again", "status", "code"), [row[1:] for row in ENDLESS], ids=[r[0] for r in ENDLESS]
)
def test_endless_head_is_refused_at_32_kibibytes(
    door: Address, begin: bytes, again: bytes, status: int, code: str
) -> None:
    """Little more than the limit is sent, so that the answer is read before the connection breaks."""
    with connected(door) as connection:
        pour(connection, [begin, *[again] * 12])
        answer = read_to_the_end(connection)
    assert statuses(answer) == [status], answer[:200]
    assert code_of(answer) == code
    assert b"connection: close" in answer


@pytest.mark.parametrize(("begin", "again"), [row[1:3] for row in ENDLESS], ids=[row[0] for row in ENDLESS])
def test_endless_body_takes_no_memory(server: LocalServer, door: Address, begin: bytes, again: bytes) -> None:
    exchange(door, request("GET", "/health"))
    before = resident_octets(server.process)
    for _ in range(5):
        with connected(door) as connection:
            sent = pour(connection, itertools.chain([begin], itertools.repeat(again, 20 * MEBIBYTE // len(again))))
        assert sent < 8 * MEBIBYTE  # what the kernel takes on
    assert resident_octets(server.process) - before < 8 * MEBIBYTE
    assert exchange(door, request("GET", "/health")).status == 200


def test_a_head_of_31_kibibytes_in_single_octets_is_taken(door: Address) -> None:
    head = HEAD + b"X-A: " + b"a" * 31_000 + b"\r\n\r\n"
    with connected(door) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for byte in head[:600]:
            connection.sendall(bytes([byte]))
        connection.sendall(head[600:])
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")


def test_a_body_in_small_chunks_is_not_counted_as_a_head(door: Address) -> None:
    """Its size lines alone are more than the bound of a head."""
    body = b"".join(b"1\r\n \r\n" for _ in range(20_000)) + b"0\r\n\r\n"
    answer = exchange(door, CHUNKED + body)
    assert (answer.status, answer.code) == (401, "AUTH_REQUIRED")


def test_a_target_of_8192_octets_passes_and_one_more_does_not(door: Address) -> None:
    """With a query: what lies behind the door counts without the question mark, and would take the longer one."""
    start = "/nowhere?"
    assert exchange(door, request("GET", start + "a" * (8192 - len(start)))).status == 404
    refused = exchange(door, request("GET", start + "a" * (8193 - len(start))))
    assert (refused.status, refused.code) == (400, "INVALID_REQUEST")


def test_a_hundred_fields_pass_and_one_more_does_not(door: Address) -> None:
    for count, status in ((99, 200), (100, 431)):
        lines = [b"X-%d: x" % number for number in range(count)]
        assert exchange(door, request("GET", "/health", *lines)).status == status


@pytest.mark.parametrize("sent", [b"", b"\r\n\r\n"], ids=["nothing", "empty lines"])
def test_silent_connection_is_closed(hastiest: LocalServer, sent: bytes) -> None:
    with connected(address_of(hastiest.url)) as connection:
        connection.sendall(sent)
        assert read_to_the_end(connection) == b""


@pytest.mark.parametrize(
    "sent", [b"G", b"GET /hea", HEAD, HEAD + b"X-A: a", HEAD + b"X-A"], ids=["byte", "line", "host", "value", "name"]
)
def test_unfinished_head_is_answered_and_closed(hasty: LocalServer, sent: bytes) -> None:
    with connected(address_of(hasty.url)) as connection:
        connection.sendall(sent)
        answer = read_to_the_end(connection)
    assert (statuses(answer), code_of(answer)) == ([400], "INVALID_REQUEST")
    assert b"did not arrive in time" in answer


def dribble(data: Iterable[bytes]) -> Iterator[bytes]:
    """One after the other, each before a deadline that began anew with every byte would have passed."""
    for byte in data:
        yield byte
        time.sleep(0.1)


@pytest.mark.parametrize("begin", [b"", HEAD], ids=["lines", "header"])
def test_octet_after_octet_is_no_way_to_stay(hastiest: LocalServer, begin: bytes) -> None:
    """Slowloris: each byte comes in time and the head never ends."""
    endless = itertools.repeat(b"\r\n" if not begin else b"a", 200)
    with connected(address_of(hastiest.url)) as connection:
        connection.sendall(begin)
        assert pour(connection, dribble(endless)) < 100
        assert statuses(read_to_the_end(connection)) in ([], [400])


def test_a_connection_that_rests_after_an_answer_is_closed(hasty: LocalServer) -> None:
    with connected(address_of(hasty.url)) as connection:
        connection.sendall(request("GET", "/health"))
        assert statuses(read_to_the_end(connection)) == [200]


def test_slowloris_on_a_kept_connection(hasty: LocalServer) -> None:
    """The first request is whole, the second dribbles."""
    with connected(address_of(hasty.url)) as connection:
        connection.sendall(request("GET", "/health"))
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert pour(connection, dribble([b"GET /health HTTP/1.1\r\n", *[b"a"] * 200])) < 100
        assert statuses(read_to_the_end(connection)) in ([], [400])


@pytest.mark.parametrize(
    ("method", "target", "statuses_seen"),
    [("POST", "/api/v1/dids", [400]), ("PUT", "/api/v1/dids", [405]), ("POST", "/nowhere", [404])],
    ids=["body wanted", "405", "404"],
)
def test_a_body_that_dribbles_ends_the_connection(
    hasty: LocalServer, method: str, target: str, statuses_seen: list[int]
) -> None:
    """Also where the answer has long been given, and the body is only read away."""
    head = request(method, target, b"Content-Type: application/json", b"Content-Length: 100000")
    with connected(address_of(hasty.url)) as connection:
        connection.sendall(head)
        assert pour(connection, dribble([b" "] * 200)) < 100
        assert statuses(read_to_the_end(connection)) == statuses_seen


def test_continue_without_body_is_closed(hasty: LocalServer) -> None:
    lines = [b"Content-Type: application/json", b"Expect: 100-continue", b"Content-Length: 5"]
    with connected(address_of(hasty.url)) as connection:
        connection.sendall(request("POST", "/api/v1/dids", *lines))
        assert statuses(read_to_the_end(connection)) == [100, 400]


@pytest.mark.parametrize("sent", [b"", HEAD, CHUNKED + b"5\r\n{"], ids=["nothing", "half a head", "half a body"])
def test_half_closed_connection_is_closed(server: LocalServer, door: Address, sent: bytes) -> None:
    """Long before a deadline, which is ten minutes here."""
    with connected(door) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert read_to_the_end(connection) == b""


def test_client_that_does_not_read_is_closed(hasty: LocalServer) -> None:
    """More than any buffer holds is asked for; after the deadline hardly anything of it comes."""
    with connected(address_of(hasty.url), received=4096) as connection:
        connection.sendall(request("GET", "/openapi.json") * 30)
        until(SECONDS, "the server never closes", lambda: is_closed_there(connection))
        assert len(read_to_the_end(connection)) < 2 * MEBIBYTE
    assert 30 * len(exchange(address_of(hasty.url), request("GET", "/openapi.json")).body) > 4 * MEBIBYTE


@pytest.mark.parametrize("number", [100, 10_000])
def test_thousands_of_requests_in_one_go_are_not_all_worked_on(door: Address, number: int) -> None:
    with connected(door) as connection:
        pour(connection, [request("GET", "/nowhere") * number])
        answers = read_to_the_end(connection)
    seen = statuses(answers)
    assert set(seen) <= {404, 429}
    assert 1 <= len(seen) <= 40
    # A connection that is closed over unread bytes is reset, which may take the last answer of the 10,000 away with it.
    if number == 100:
        assert seen[-1] == 429
        assert code_of(answers) == "RATE_LIMITED"


def test_thirty_requests_in_one_go_are_answered_in_order(door: Address) -> None:
    requests = [request("GET", "/health", b"X-Request-Id: r%d" % number) for number in range(30)]
    with connected(door) as connection:
        connection.sendall(b"".join(requests))
        received = b""
        while received.count(b"x-request-id: ") < 30:
            received += (more := connection.recv(65536))
            assert more, received
    assert [line for line in received.split(b"\r\n") if line.startswith(b"x-request-id")] == [
        b"x-request-id: r%d" % number for number in range(30)
    ]


def test_an_offer_to_upgrade_does_not_swallow_the_next_request(door: Address) -> None:
    offer = request("GET", "/health", b"Connection: upgrade", b"Upgrade: h2c", b"X-Request-Id: r1")
    with connected(door) as connection:
        connection.sendall(offer + request("GET", "/health", b"X-Request-Id: r2"))
        received = b""
        while b"x-request-id: r2" not in received:
            received += (more := connection.recv(65536))
            assert more, received
    assert statuses(received) == [200, 200]


def test_a_refusal_waits_for_the_answers_before_it(door: Address) -> None:
    """Also that of bytes that are not a request: what was asked before them gets its own answer, whole."""
    with connected(door) as connection:
        connection.sendall(request("GET", "/openapi.json") + request("GET", "/health") + b"nonsense\r\n\r\n")
        answers = read_to_the_end(connection)
    assert statuses(answers) == [200, 200, 400]
    assert code_of(answers) == "INVALID_REQUEST"


def test_a_flood_that_is_reset_leaves_nothing(server: LocalServer, door: Address) -> None:
    for sent in (b"", HEAD, request("GET", "/openapi.json"), CHUNKED + b"5\r\n{"):
        for _ in range(150):
            with connected(door) as connection:
                connection.sendall(sent)
                reset(connection)
    # All of them were one address's, and more than it may have at once.
    assert exchange(door, request("GET", "/health")).status == 200
    assert "Traceback" not in server.log.read_text()


DID = "did:ids:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG"
REFUSED = [
    request("GET", "/nothing"),
    request("GET", f"/api/v1/dids/{DID}"),
    request("DELETE", "/health"),
    request("GET", f"/api/v1/dids/{DID}", b"Accept: image/png"),
    request("GET", "/api/v1/dids"),
    request("GET", "/api/v1/audit", b"Authorization: Bearer a.b.c"),
    request("POST", "/api/v1/dids", b"Content-Type: text/plain", body=b"{}"),
    request("POST", "/api/v1/dids", b"Content-Type: application/json", b"Content-Length: 999999999"),
    b"nonsense\r\n\r\n",
]


def test_every_refusal_names_its_request_and_so_does_the_log(server: LocalServer, door: Address) -> None:
    """The parser, the HTTP server or the operation may refuse. The sent status is logged with the request's id."""
    malformed = [case.raw for case in corpus(server.api_key, DID, b'{"method":"ids","keyType":"Ed25519"}')]
    answers = [exchange(door, data) for data in (*REFUSED, *malformed)]
    assert all(answer.code for answer in answers if answer.status >= 400)
    refused = {answer.headers["x-request-id"]: answer.status for answer in answers if answer.status >= 400}
    assert {400, 401, 404, 405, 406, 413, 415, 431} <= set(refused.values())
    assert len(refused) == len(answers), "each is a refusal and has an id of its own"

    def read_logged() -> set[tuple[str, int]]:
        found = re.findall(r" status=(\d+) .*?requestId=(\S+)", server.log.read_text())
        return {(request_id, int(status)) for status, request_id in found}

    until(SECONDS, "the log has each", lambda: refused.items() <= read_logged())
