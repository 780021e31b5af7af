"""The corpus of bad requests over a real socket, against the real service on uvicorn with httptools.

Every case is a documented 4xx in the one error shape, also where the HTTP parser refuses before there is a request.
Nothing is a 5xx and nothing that must be refused is taken.
"""

import random
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass

import httpx
import orjson
import pytest

from tests.attack.raw_http import DIDS, JSON, SECONDS, Case, Response, corpus, exchange, read_several, request
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

    def fill(self, data: bytes) -> bytes:
        """Return ``data`` with the real key and DID instead of the placeholders, which are in no body."""
        return (
            data.replace(KEY.encode(), self.api_key.encode())
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
    response = exchange(target.address, target.fill(case.raw))
    assert (response.status, response.code) == (case.status, case.code), response.body[:500]
    if response.status == 401:
        assert response.headers["www-authenticate"]


def accepted() -> list[tuple[str, bytes, int]]:
    """What looks odd and is right: (name, bytes, status)."""
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
        ("a Host with a port", request("GET", resolve, host=b"[::1]:8080 "), 200),
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


@pytest.mark.parametrize(("name", "data", "status"), accepted(), ids=[name for name, _, _ in accepted()])
def test_odd_but_right_requests_are_taken(target: Target, name: str, data: bytes, status: int) -> None:
    response = exchange(target.address, target.fill(data))
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
        [b"Accept: application/did-resolution"],
        [b'Accept: application/ld+json;profile="https://w3id.org/did-resolution"'],
        [b"Accept: application/did-url-dereferencing;q=0.5, application/ld+json"],
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
@pytest.mark.parametrize("path", [f"{DIDS}/{DID}", f"/1.0/identifiers/{DID}", f"/api/v1/identifiers/{DID}", DIDS])
def test_fast_answer_equals_the_normal_one(target: Target, path: str, fields: list[bytes]) -> None:
    """A GET that the cache answers, or that is refused for its credential, takes a shorter way than its HEAD, which tells what the whole
    way has to say."""
    path = path.replace(DID, target.did)
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


def stable_response(response: Response) -> tuple[object, ...]:
    """All of an answer that does not depend on when it was asked for, or how often."""
    headers = dict(response.headers)
    for name in ("date", "ratelimit"):
        headers.pop(name, None)
    body = response.body.replace(headers.pop("x-request-id").encode(), b"")
    # Milliseconds of a resolution.
    body = re.sub(rb'"duration":\d+', b'"duration":0', body)
    # The id of a request grows with their number.
    length = int(headers.pop("content-length", "0")) - len(response.body)
    return response.status, headers, length, body


def answers(target: Target, pieces: list[bytes], number: int) -> list[Response]:
    """What is answered to bytes that come piece by piece."""
    with socket.create_connection(target.address, timeout=SECONDS) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for place, piece in enumerate(pieces):
            if place:
                # Long enough for the pieces before to be worked on.
                time.sleep(0.05)
            connection.sendall(piece)
        return read_several(connection, number)


REFUSED = [
    [],
    [b"Authorization: DIDAuth bm90IGEgc2lnbmF0dXJl"],
    [b"Authorization: DIDAuth ((("],
    [b"Authorization: RecoveryKey bm90IGEgc2lnbmF0dXJl"],
    [b"Authorization: Basic YTpi"],
    [b"Authorization: Bearer absent"],
    [b"Authorization:"],
    [b"Authorization: DIDAuth a", b"Authorization: DIDAuth b"],
    [b"Authorization: DIDAuth a", b"X-API-Key: b"],
    [b"X-API-Key: wrong"],
    [b"X-API-Key: a", b"X-API-Key: b"],
    [b"Content-Encoding: gzip"],
    [b"Origin: https://a.example"],
    [b"Idempotency-Key: once"],
    [b"Expect: 100-continue"],
    [b"Host: another"],
    [b"Connection: close"],
]


REFUSED_PLACES = [
    ("DELETE", f"{DIDS}/{DID}"),
    ("PATCH", f"{DIDS}/{DID}?versionId=1"),
    ("DELETE", f"{DIDS}/did:ids:absent"),
    ("DELETE", f"{DIDS}/no-did"),
    ("DELETE", f"http://elsewhere{DIDS}/{DID}"),
    ("POST", DIDS),
    ("POST", "/api/v1/proofs/verify"),
]


@pytest.mark.parametrize("fields", REFUSED, ids=str)
@pytest.mark.parametrize(("method", "path"), REFUSED_PLACES, ids=str)
def test_refusal_is_same_whether_its_body_comes_at_once_or_later(
    target: Target, method: str, path: str, fields: list[bytes]
) -> None:
    """Who is refused for a credential is answered when all of the request is there, without the layers that wait for the rest of it."""
    medias = ("application/json", "text/plain") if (method, path) == REFUSED_PLACES[0] else ("application/json",)
    for media in medias:
        data = request(
            method,
            path.replace(DID, target.did),
            f"Content-Type: {media}".encode(),
            *fields,
            body=b'{"confirm":true}',
        )
        head, _, body = data.partition(b"\r\n\r\n")
        whole = answers(target, [data], 1)
        # A client that asked whether to go on is told so before its answer.
        parts = answers(target, [head + b"\r\n\r\n" + body[:3], body[3:]], 1)
        assert [stable_response(each) for each in whole] == [stable_response(each) for each in parts]
        assert whole[0].status in (400, 401, 404, 415)


def test_however_requests_are_cut_their_answers_are_the_same(target: Target) -> None:
    path, body = f"{DIDS}/{target.did}", b'{"confirm":true}'
    chunks = b"4\r\n%b\r\nc\r\n%b\r\n0\r\nTrailer: t\r\n\r\n" % (body[:4], body[4:])
    asked = [
        request("GET", path),
        request("DELETE", path, JSON, body=body),
        request("GET", f"/1.0/identifiers/{target.did}"),
        request("DELETE", path, JSON, b"Transfer-Encoding: chunked") + chunks,
        request("POST", DIDS, JSON, b"Authorization: DIDAuth x", body=VALID),
        request("GET", DIDS),
        request("GET", "/health"),
        request("PATCH", path, b"Content-Type: text/plain", body=b"x"),
        request("GET", path, b'If-None-Match: "1.did+ld+json"'),
        request("DELETE", path, JSON, b"Connection: close", body=body),
        request("GET", path),
    ]
    data, number = b"".join(asked), len(asked) - 1
    whole = [stable_response(each) for each in answers(target, [data], number)]
    assert [each[0] for each in whole] == [200, 401, 200, 401, 401, 401, 200, 415, 304, 401]
    generator = random.Random(18)
    for _ in range(12):
        cuts = sorted(generator.sample(range(1, len(data)), 4))
        pieces = [data[a:b] for a, b in zip([0, *cuts], [*cuts, len(data)], strict=True)]
        assert [stable_response(each) for each in answers(target, pieces, number)] == whole, cuts


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
