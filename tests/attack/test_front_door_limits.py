"""How many connections one stranger and all of them get, and that no request is free of charge.

Strangers are the addresses 127.0.0.x, all of which are this machine.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest
from identity_commands.local_server import LocalServer

from tests.attack.connections import (
    SECONDS,
    address_of,
    code_of,
    connected,
    read_to_the_end,
    reset,
    resident_octets,
    statuses,
    until,
)
from tests.attack.raw_http import exchange, request
from tests.attack.stranger import GENEROUS
from tests.servers import local_server

JSON = b"Content-Type: application/json"
HEALTH = request("GET", "/health")
# Who is silent stays so, however long a busy machine takes.
PATIENT = {"IDENTITY_SERVER_FIRST_BYTE_TIMEOUT_SECONDS": "600", "IDENTITY_SERVER_BODY_TIMEOUT_SECONDS": "600"}


@pytest.fixture(scope="module")
def narrow() -> Iterator[LocalServer]:
    """Eight connections an address, twelve in all; who comes from 127.0.0.9 is a proxy."""
    limits = {
        "IDENTITY_SERVER_MAX_CONNECTIONS": "12",
        "IDENTITY_SERVER_MAX_CONNECTIONS_PER_ADDRESS": "8",
        "IDENTITY_SERVER_TRUSTED_PROXIES": "127.0.0.9/32",
    }
    with local_server(environment={**GENEROUS, **PATIENT, **limits}) as server:
        yield server


def ask(server: LocalServer, source: str, data: bytes = HEALTH) -> bytes:
    """One answer to ``data`` on a connection of its own."""
    with connected(address_of(server.url), source) as connection:
        with contextlib.suppress(ConnectionError):
            connection.sendall(data)
        received = b""
        with contextlib.suppress(ConnectionError):
            while b"\r\n\r\n" not in received and (more := connection.recv(65536)):
                received += more
        return received


def takes(server: LocalServer, source: str) -> bool:
    """Whether a request from there is answered as it should be."""
    return statuses(ask(server, source)) == [200]


@contextlib.contextmanager
def silent(server: LocalServer, source: str, count: int, begun: bytes = b"") -> Iterator[list[socket.socket]]:
    """Yield so many connections that send ``begun`` and no more. Afterwards they are not counted any longer."""
    with contextlib.ExitStack() as stack:
        opened = [stack.enter_context(connected(address_of(server.url), source)) for _ in range(count)]
        for each in opened:
            each.sendall(begun)
        yield opened
    until(SECONDS, "the connections are still counted", lambda: takes(server, source))


def test_address_gets_so_many_connections_and_others_get_theirs(narrow: LocalServer) -> None:
    with silent(narrow, "127.0.0.1", 8):
        until(SECONDS, "a ninth is taken", lambda: not takes(narrow, "127.0.0.1"))
        with connected(address_of(narrow.url)) as ninth:
            answer = read_to_the_end(ninth)
        assert (statuses(answer), code_of(answer)) == ([429], "RATE_LIMITED")
        assert b"retry-after: 1\r\n" in answer
        assert b"connection: close\r\n" in answer
        assert takes(narrow, "127.0.0.2")


@pytest.mark.parametrize("begun", [b"", b"GET /hea", HEALTH], ids=["nothing", "half a head", "a request"])
def test_silent_connections_keep_nobody_out(narrow: LocalServer, begun: bytes) -> None:
    with silent(narrow, "127.0.0.1", 8, begun), silent(narrow, "127.0.0.2", 4, begun):
        assert all(takes(narrow, "127.0.0.3") for _ in range(20))


def test_a_proxy_is_not_one_client(narrow: LocalServer) -> None:
    with silent(narrow, "127.0.0.9", 11):
        assert takes(narrow, "127.0.0.9")


@pytest.mark.parametrize("sent", [b"", b"GET /hea", HEALTH], ids=["nothing", "half a head", "a request"])
def test_connections_that_are_reset_are_not_counted(narrow: LocalServer, sent: bytes) -> None:
    for _ in range(60):
        with connected(address_of(narrow.url), "127.0.0.4") as connection:
            with contextlib.suppress(ConnectionError):
                connection.sendall(sent)
            reset(connection)
    # It notices a reset when it next looks at the connection, and looks at those before a new one first.
    until(SECONDS, "they are still counted", lambda: takes(narrow, "127.0.0.4"))
    with silent(narrow, "127.0.0.4", 7):
        until(SECONDS, "an eighth is not taken", lambda: takes(narrow, "127.0.0.4"))


@pytest.fixture(scope="module")
def poor() -> Iterator[LocalServer]:
    """Five requests an address, and then none for a long time."""
    limits = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.001", "IDENTITY_THROTTLE_ADDRESS_BURST": "5"}
    with local_server(environment={**PATIENT, **limits}) as server:
        yield server


# What is asked and what it gets while there is something in the bucket.
FREE_BEFORE = [
    ("an unknown path", request("GET", "/nowhere"), 404),
    ("an unknown path below the prefix", request("GET", "/api/v1/nowhere"), 404),
    ("the page of the document", request("GET", "/docs"), 200),
    ("the document", request("GET", "/openapi.json"), 200),
    ("metadata", request("GET", "/.well-known/oauth-authorization-server"), 200),
    ("OPTIONS", request("OPTIONS", "/health"), 204),
    ("a method that is not there", request("PUT", "/api/v1/dids"), 405),
    ("a path parameter that is not text", request("GET", "/api/v1/dids/%FF"), 400),
    ("no host", b"GET /health HTTP/1.1\r\n\r\n", 400),
    ("too many headers", request("GET", "/health", *[b"X-A: b"] * 200), 431),
    ("a body where none belongs", request("GET", "/health", JSON, body=b"{}"), 400),
    ("a body of another kind", request("POST", "/api/v1/dids", b"Content-Type: text/plain", body=b"{}"), 415),
    ("a body that is too long", request("POST", "/api/v1/dids", JSON, b"Content-Length: 50000000"), 413),
    ("health", HEALTH, 200),
]


@pytest.mark.parametrize(("number", "row"), list(enumerate(FREE_BEFORE)), ids=[row[0] for row in FREE_BEFORE])
def test_nothing_is_free_of_charge(poor: LocalServer, number: int, row: tuple[str, bytes, int]) -> None:
    _, data, status = row
    source = f"127.0.1.{number + 1}"
    seen = [statuses(ask(poor, source, data)) for _ in range(6)]
    assert seen == [[status]] * 5 + [[429]]


def test_bodies_that_do_not_end_share_32_mebibytes(poor: LocalServer) -> None:
    """Two hundred of 240 KB from four addresses: the later ones are refused, and a whole body is still taken."""
    head = request("POST", "/api/v1/zkp/proofs/verify", JSON, b"Content-Length: 262144")
    exchange(address_of(poor.url), HEALTH)
    before = resident_octets(poor.process)
    with contextlib.ExitStack() as stack:
        unfinished = []
        for number in range(200):
            connection = stack.enter_context(connected(address_of(poor.url), f"127.0.2.{number % 4 + 1}"))
            with contextlib.suppress(ConnectionError):
                connection.sendall(head + b" " * 240_000)
            unfinished.append(connection)
        assert resident_octets(poor.process) - before < 64 << 20
        whole = ask(poor, "127.0.3.1", request("POST", "/api/v1/zkp/proofs/verify", JSON, body=b"{}"))
        assert statuses(whole) == [400]
        seen = [statuses(ended(connection)) for connection in unfinished]
    # What was held gets no answer any more. Each address has a bucket of five; what has no token left says so.
    assert {each[0] for each in seen if each} <= {429, 503}
    assert [503] in seen
    assert seen.count([]) * 240_000 <= 32 << 20


def ended(connection: socket.socket) -> bytes:
    """What has come and still comes when nothing more is sent."""
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
    return read_to_the_end(connection)
