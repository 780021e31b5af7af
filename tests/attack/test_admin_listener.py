"""Metrics and administration on a separate listener: a client that reaches only the other listener cannot find them."""

from __future__ import annotations

import json
import re
import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fault import service_process
from tests.fault.service_process import API_KEY, Running

OPERATIONS = json.loads((Path(__file__).parents[2] / "openapi/reference.json").read_text())["paths"]
APART = [
    (method.upper(), path)
    for path, methods in OPERATIONS.items()
    for method, operation in methods.items()
    if {"api_keys", "audit"} & {*operation.get("tags", [])} or operation.get("operationId") == "getMetrics"
]
SECONDS = 60.0


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("apart") / "data"
    with service_process.service(folder, environment={"IDENTITY_SERVER_ADMIN_PORT": "0"}) as one:
        yield one


@pytest.fixture(scope="module")
def apart(running: Running) -> int:
    found = re.search(r"administration on 127\.0\.0\.1:([0-9]+)", running.log.read_text())
    assert found
    return int(found[1])


@pytest.fixture(scope="module")
def public(running: Running) -> int:
    return int(running.wire.url.rpartition(":")[2])


def exchanged(port: int, request: bytes) -> tuple[int, bytes]:
    """Status and the whole answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=SECONDS) as connection:
        connection.sendall(request)
        data = b""
        while part := connection.recv(65536):
            data += part
    return int(data.split(b" ", 2)[1]), data


def send_request(port: int, target: str, method: str = "GET", *more: str, host: str | None = None) -> tuple[int, bytes]:
    lines = [f"{method} {target} HTTP/1.1", f"Host: {host or f'127.0.0.1:{port}'}", f"X-API-Key: {API_KEY}", *more]
    return exchanged(port, ("\r\n".join([*lines, "Connection: close"]) + "\r\n\r\n").encode())


def test_there_is_something_to_keep_apart() -> None:
    assert len(APART) == 8, APART
    assert ("GET", "/metrics") in APART


@pytest.mark.parametrize(("method", "path"), APART)
def test_each_operation_is_there_and_not_here(public: int, apart: int, method: str, path: str) -> None:
    target = "/api/v1" + path.replace("{keyId}", "absent")
    status, answer = send_request(public, target, method, "Content-Length: 0")
    assert (status, b'"NOT_FOUND"' in answer) == (404, True), answer
    status, answer = send_request(apart, target, method, "Content-Length: 0")
    assert status != 405
    assert b"Nothing is served" not in answer
    assert status in (200, 400, 404, 415), answer
    assert status != 404 or b"API_KEY_NOT_FOUND" in answer, answer


@pytest.mark.parametrize(
    "target",
    [
        "/metrics",
        "//metrics",
        "/metrics/",
        "/%6Detrics",
        "/x/../metrics",
        "/.//metrics",
        "/METRICS",
        "/metrics?a",
        "/metrics;a",
    ],
)
def test_no_spelling_reaches_metrics(public: int, target: str) -> None:
    status, answer = send_request(public, target)
    assert status in (400, 404), answer
    assert b"identity_" not in answer.partition(b"\r\n\r\n")[2]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "POST"])
def test_no_header_reaches_it(public: int, apart: int, method: str) -> None:
    """The one who asks says in every way that he came to the other port."""
    said = (
        f"X-Forwarded-Port: {apart}",
        f"X-Forwarded-Host: 127.0.0.1:{apart}",
        f"Forwarded: host=127.0.0.1:{apart}",
        f"Origin: http://127.0.0.1:{apart}",
        "X-Forwarded-For: 127.0.0.1",
    )
    for target in ("/metrics", f"http://127.0.0.1:{apart}/metrics"):
        status, answer = send_request(public, target, method, *said, host=f"127.0.0.1:{apart}")
        assert status in (400, 404), answer
        assert b"allow:" not in answer.lower()


def test_a_second_request_of_a_connection_is_asked_as_the_first(public: int) -> None:
    first = "GET /health HTTP/1.1\r\nHost: a\r\n\r\n"
    second = f"GET /metrics HTTP/1.1\r\nHost: a\r\nX-API-Key: {API_KEY}\r\nConnection: close\r\n\r\n"
    _, data = exchanged(public, (first + second).encode())
    assert re.findall(rb"HTTP/1.1 ([0-9]+)", data) == [b"200", b"404"]


@pytest.mark.parametrize(
    "target", ["/", "/docs", "/openapi.json", "/api/v1/dids", "/auth/challenge", "/.well-known/jwks.json", "/ui"]
)
def test_the_other_listener_has_nothing_for_callers(apart: int, target: str) -> None:
    assert send_request(apart, target)[0] == 404


def test_the_pages_of_operators_are_there_and_not_here(public: int, apart: int) -> None:
    for target in ("/ui/operator", "/ui/operator/sign-in", "/ui/operator/audit"):
        assert send_request(public, target)[0] == 404
        assert send_request(apart, target)[0] in (200, 303)
    form = ("Content-Type: application/x-www-form-urlencoded", "Sec-Fetch-Site: same-origin", "Content-Length: 0")
    # As any other path of two segments below /ui, which has the page of an unknown address.
    unknown = send_request(public, "/ui/nothing/there", "POST", *form)[0]
    assert send_request(public, "/ui/operator/session", "POST", *form)[0] == unknown == 405
    assert send_request(apart, "/ui/operator/session", "POST", *form)[0] == 401
    style = re.search(rb"/ui/static/[0-9a-f]+/ui.css", send_request(apart, "/ui/operator/sign-in")[1])
    assert style
    for port in (public, apart):
        assert send_request(port, style[0].decode())[0] == 200


def test_both_say_how_they_are(public: int, apart: int) -> None:
    for port in (public, apart):
        assert {target: send_request(port, target)[0] for target in ("/health", "/ready", "/version")} == {
            "/health": 200,
            "/ready": 200,
            "/version": 200,
        }


def test_metrics_still_want_a_key(apart: int) -> None:
    assert b"identity_" in send_request(apart, "/metrics")[1]
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(f"http://127.0.0.1:{apart}/metrics", timeout=SECONDS)
    assert refused.value.code == 401
