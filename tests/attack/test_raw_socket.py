"""The corpus of bad requests over a real socket, against the real service on uvicorn with httptools.

Every case is a documented 4xx in the one error shape, also where the HTTP parser refuses before there is a request.
Nothing is a 5xx and nothing that must be refused is taken.
"""

import socket
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import orjson
import pytest

from tests.attack.raw_http import DIDS, JSON, SECONDS, Case, corpus, exchange, request
from tests.attack.stranger import GENEROUS
from tests.servers import local_server

VALID = b'{"method":"ids","keyType":"Ed25519"}'
# Stand-ins while the cases are collected; the fixture puts the real ones in.
KEY, DID = "raw-socket-key-00000000000000000000000000000", "did:ids:PLACEHOLDER"


def escaped(did: str) -> str:
    """``did`` as the generated clients send it."""
    return did.replace(":", "%3a")


@dataclass(frozen=True)
class Target:
    """A running service."""

    address: tuple[str, int]
    url: str
    api_key: str
    did: str

    def fill(self, octets: bytes) -> bytes:
        """``octets`` with the real key and DID in the place of the stand-ins, which are in no body."""
        return (
            octets.replace(KEY.encode(), self.api_key.encode())
            .replace(KEY.swapcase().encode(), self.api_key.swapcase().encode())
            .replace(DID.encode(), self.did.encode())
            .replace(escaped(DID).encode(), escaped(self.did).encode())
        )


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with local_server(environment=GENEROUS) as server:
        host, _, port = server.url.removeprefix("http://").partition(":")
        created = httpx.post(
            f"{server.url}{DIDS}",
            content=VALID,
            headers={"X-API-Key": server.api_key, "Content-Type": "application/json"},
            trust_env=False,
            timeout=SECONDS,
        )
        assert created.status_code == 201, created.text
        yield Target((host, int(port)), server.url, server.api_key, created.json()["did"])


@pytest.mark.parametrize("case", corpus(KEY, DID, VALID), ids=lambda case: case.name)
def test_bad_requests_are_refused(target: Target, case: Case) -> None:
    response = exchange(target.address, target.fill(case.octets))
    assert (response.status, response.code) == (case.status, case.code), response.body[:500]
    if response.status == 401:
        assert response.headers["www-authenticate"]


def accepted() -> list[tuple[str, bytes, int]]:
    """What looks odd and is right: (name, octets, status)."""
    resolve = f"{DIDS}/{DID}"
    key = f"X-API-Key: {KEY}".encode()
    create = request("POST", DIDS, key, JSON, body=VALID)
    half = len(VALID) // 2
    chunks = b"%x\r\n%s\r\n%x;name=value\r\n%s\r\n0\r\n\r\n" % (half, VALID[:half], len(VALID) - half, VALID[half:])
    return [
        ("plain", request("GET", resolve), 200),
        ("escaped colons", request("GET", f"{DIDS}/{escaped(DID)}"), 200),
        ("needless escapes", request("GET", resolve.replace("/dids/", "/%64ids/")), 200),
        ("absolute form", request("GET", "http://elsewhere" + resolve), 200),
        ("HTTP/1.0 with a Host", request("GET", resolve).replace(b"HTTP/1.1", b"HTTP/1.0"), 200),
        ("the same Host twice", request("GET", resolve, b"Host: localhost"), 200),
        ("the same key twice", request("POST", DIDS, key, key, JSON, body=VALID), 201),
        (
            "the same key in two forms",
            request("POST", DIDS, key, f"Authorization: apikey {KEY}".encode(), JSON, body=VALID),
            201,
        ),
        ("the key as a token", request("POST", DIDS, f"Authorization: Bearer  {KEY} ".encode(), JSON, body=VALID), 201),
        ("a media type in capitals", create.replace(b"application/json", b"APPLICATION/JSON; Charset=UTF-8"), 201),
        ("chunks", request("POST", DIDS, key, JSON, b"Transfer-Encoding: chunked") + chunks, 201),
        ("spaces around the JSON", request("POST", DIDS, key, JSON, body=b"\r\n" + VALID + b" \n"), 201),
        ("an unread header past ASCII", request("GET", resolve, b"User-Agent: \xe4\xf6\xfc"), 200),
        ("a length of zero", request("GET", resolve, b"Content-Length: 0"), 200),
        ("an upgrade to WebSocket", request("GET", resolve, b"Connection: upgrade", b"Upgrade: websocket"), 200),
        ("an upgrade to HTTP/2", request("GET", resolve, b"Connection: upgrade", b"Upgrade: h2c"), 200),
        ("OPTIONS", request("OPTIONS", resolve), 204),
    ]


@pytest.mark.parametrize(("name", "octets", "status"), accepted(), ids=[name for name, _, _ in accepted()])
def test_odd_but_right_requests_are_taken(target: Target, name: str, octets: bytes, status: int) -> None:
    response = exchange(target.address, target.fill(octets))
    assert response.status == status, response.body[:500]


def test_head_has_no_body(target: Target) -> None:
    response = exchange(target.address, request("HEAD", f"{DIDS}/{target.did}"), head=True)
    assert (response.status, response.body) == (200, b"")
    assert int(response.headers["content-length"]) > 100


@pytest.mark.parametrize(
    "fields",
    [
        [],
        [b"Accept: application/did"],
        [b"Accept: application/json", b"Accept: application/did"],
        [b"Accept: text/html"],
        [b"Accept: \xff"],
        [b'If-None-Match: "1.did+ld+json"'],
        [b'If-None-Match: "2.did+ld+json", W/"1.did+ld+json"'],
        [b"If-None-Match: *"],
        [b"Origin: https://a.example"],
        [b"X-Forwarded-For: 192.0.2.9"],
        [b"X-Request-Id: mine"],
        [b"X-Request-Id: (theirs)"],
        [b"Content-Length: 0"],
        [b"Content-Length: 1"],
        [b"Transfer-Encoding: chunked"],
        [b"Host: another"],
        [b"X-API-Key: wrong"],
        [b"Authorization: Basic YTpi"],
        [b"Connection: close"],
        [b"Expect: 100-continue"],
        [b"Upgrade: h2c", b"Connection: Upgrade"],
    ],
    ids=str,
)
def test_what_is_remembered_is_answered_as_everything_else(target: Target, fields: list[bytes]) -> None:
    """A GET that the cache answers takes a shorter way than its HEAD, which tells what the whole way has to say."""
    path = f"{DIDS}/{target.did}"
    ends = [
        b"" if b"Content-Length: 1" not in fields else b"x",
        b"0\r\n\r\n" if b"Transfer-Encoding: chunked" in fields else b"",
    ]
    got, head = (
        exchange(target.address, request(method, path, *fields) + b"".join(ends), head=method == "HEAD")
        for method in ("GET", "HEAD")
    )
    assert (got.status, got.headers.keys()) == (head.status, head.headers.keys())
    differ = {"date", "x-request-id", "ratelimit", "content-length"}
    assert [(name, got.headers[name]) for name in got.headers.keys() - differ] == [
        (name, head.headers[name]) for name in got.headers.keys() - differ
    ]
    assert got.status >= 400 or got.headers.get("content-length") == head.headers.get("content-length")


def test_requests_in_one_packet_are_answered_in_order(target: Target) -> None:
    both = request("GET", "/health", b"X-Request-Id: first") + request("GET", "/health", b"X-Request-Id: second")
    with socket.create_connection(target.address, timeout=SECONDS) as connection:
        connection.sendall(both)
        received = b""
        while received.count(b"x-request-id") < 2 or not received.endswith(b"}"):
            received += (more := connection.recv(65536))
            assert more, received
    assert received.index(b"first") < received.index(b"second")


def test_a_client_that_asks_before_it_sends_is_told_at_once(target: Target) -> None:
    key = f"X-API-Key: {target.api_key}".encode()
    head = request("POST", DIDS, key, JSON, b"Expect: 100-continue", b"Content-Length: 50000000")
    assert exchange(target.address, head).status == 413


def test_a_client_that_goes_away_leaves_no_trace(target: Target) -> None:
    for _ in range(20):
        with socket.create_connection(target.address, timeout=SECONDS) as connection:
            connection.sendall(request("POST", DIDS, JSON, b"Content-Length: 100") + b"{")
    assert exchange(target.address, request("GET", "/health")).status == 200


def test_the_service_has_given_no_5xx(target: Target) -> None:
    headers = {"X-API-Key": target.api_key}
    text = httpx.get(f"{target.url}/metrics", headers=headers, trust_env=False, timeout=SECONDS).text
    counted = [line for line in text.splitlines() if line.startswith("identity_request_duration_seconds_count")]
    assert counted
    assert [line for line in counted if 'status="5' in line] == []


def test_every_refusal_is_one_that_the_document_has(target: Target) -> None:
    document = orjson.loads(httpx.get(f"{target.url}/openapi.json", trust_env=False, timeout=SECONDS).content)
    codes = set()
    for path in document["paths"].values():
        for operation in path.values():
            for reference in operation["responses"].values():
                name = reference.get("$ref", "").rpartition("/")[2]
                response = document["components"]["responses"].get(name, reference)
                codes |= set(response.get("x-error-codes", ()))
    assert {case.code for case in corpus(KEY, DID, VALID)} - {"NOT_FOUND"} <= codes
