"""The request log of a running service: every refusal's id is in it, and nothing of what strangers and callers wrote."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.attack.stranger import PREFIX
from tests.fault import service_process
from tests.fault.service_process import API_KEY, Running, eventually

CANARY = "CaNaRy7Zq"


def lines(running: Running) -> list[dict[str, Any]]:
    found = []
    for line in running.log.read_text().splitlines():
        if line.startswith("{"):
            record = json.loads(line)
            if record.get("logger") == "identity.request":
                found.append(record)
    return found


def raw(running: Running, data: bytes) -> bytes:
    host = urlsplit(running.wire.url)
    with socket.create_connection((host.hostname, host.port), 30) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    return answer


def head(target: str, *headers: str, method: str = "GET") -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: x", "Connection: close", *headers, "", ""]).encode()


HOSTILE = [
    head(f"/{CANARY}"),
    head(f"/api/v1/dids/did:ids:{CANARY}"),
    head(f"/api/v1/dids/did:ids:{'1' * 46}?versionId={CANARY}"),
    head(f"/health?{CANARY}={CANARY}"),
    head(
        "/health",
        f"X-API-Key: {CANARY}",
        f"X-Forwarded-For: {CANARY}",
        f"User-Agent: {CANARY}",
        f"X-Request-Id: ({CANARY})",
    ),
    head("/api/v1/dids", f"Authorization: ApiKey {CANARY}"),
    head("/api/v1/audit", f"Authorization: Bearer {CANARY}.{CANARY}.{CANARY}"),
    head("/health", method="PROPFIND"),
    head("/health", f"Host: {CANARY}"),
    head(f"/{CANARY}", "Content-Length: x"),
    f"GET /{CANARY}\x00 HTTP/1.1\r\n\r\n".encode(),
    f"{CANARY} / HTTP/1.1\r\n\r\n".encode(),
    head("/api/v1/dids", "Content-Type: application/json", f"Content-Length: {len(CANARY) + 2}", method="POST")
    + f'"{CANARY}"'.encode(),
]


@pytest.mark.parametrize("form", ["json", "text"])
def test_ids_of_refusals_are_in_log_and_no_word_of_client(tmp_path: Path, form: str) -> None:
    with service_process.service(tmp_path / "data", environment={"IDENTITY_LOG_FORMAT": form}) as running:
        hana = running.stranger.holder()
        read = running.wire.call("GET", f"{PREFIX}/dids/{hana.did}", headers={"X-API-Key": API_KEY})
        assert read.status == 200
        ids = []
        for data in HOSTILE:
            answer = raw(running, data)
            (found,) = re.findall(rb"\r\nx-request-id: ([A-Za-z0-9_.-]+)\r\n", answer)
            ids.append(found.decode())
        asked = [running.wire.call("PATCH", f"{PREFIX}/dids/{hana.did}", {"services": []}) for _ in range(2)]
        ids += [answer.headers["x-request-id"] for answer in asked]
        # A line follows its answer.
        eventually(lambda: all(one in running.log.read_text() for one in ids), "the last request has its line")
        text = running.log.read_text()
        for request_id in ids:
            assert len(re.findall(rf'requestId(?:=|":"){re.escape(request_id)}\b', text)) == 1, request_id
        of_requests = "\n".join(line for line in text.splitlines() if "identity.request" in line)
        for secret in (CANARY, hana.did, hana.did.rpartition(":")[2], API_KEY, "127.0.0.1"):
            assert secret not in of_requests
        assert CANARY not in text
        if form == "json":
            (resolved,) = [
                each for each in lines(running) if each["operation"] == "resolveDid" and each["status"] == 200
            ]
            assert re.fullmatch(r"key:[0-9a-f]{12}", resolved["caller"])
            assert resolved["octetsOut"] == len(read.body)
            assert all(each["code"] for each in lines(running) if each["status"] >= 400)


def test_did_has_one_keyed_hash_per_installation(tmp_path: Path) -> None:
    names = []
    for number in range(2):
        environment = {"IDENTITY_LOG_FORMAT": "json"}
        with service_process.service(tmp_path / f"data{number}", environment=environment) as running:
            hana, iris = running.stranger.holder(), running.stranger.holder()
            for one in (hana, hana, iris):
                assert one.act(
                    "update", {"services": [{"id": "#a", "type": "A", "serviceEndpoint": "https://a.example"}]}
                )

            def callers(running: Running = running) -> list[str]:
                return [each["caller"] for each in lines(running) if each["caller"].startswith("did:")]

            eventually(lambda: len(callers()) == 3, "each request has its line")
            names.append(callers())
    for first, second, third in names:
        assert first == second != third
    assert not set(names[0]) & set(names[1])


@pytest.mark.parametrize("requests", ["true", "false"])
def test_refused_connection_is_logged(tmp_path: Path, requests: str) -> None:
    limits = {"IDENTITY_SERVER_MAX_CONNECTIONS_PER_ADDRESS": "3", "IDENTITY_LOG_REQUESTS": requests}
    environment = limits | {"IDENTITY_LOG_FORMAT": "json"}
    with service_process.service(tmp_path / "data", environment=environment) as running, contextlib.ExitStack() as held:
        host = urlsplit(running.wire.url)
        for _ in range(4):
            connection = held.enter_context(socket.create_connection((host.hostname, host.port), 30))
        # Earlier connections may still be open or not: the fourth is refused in any case, before it sends anything.
        answer = b""
        while part := connection.recv(65536):
            answer += part
        (found,) = re.findall(rb"\r\nx-request-id: ([A-Za-z0-9_.-]+)\r\n", answer)
        assert answer.startswith(b"HTTP/1.1 429 ")

        def named() -> list[dict[str, object]]:
            return [each for each in lines(running) if each["requestId"] == found.decode()]

        if requests == "false":
            assert named() == []
            return
        eventually(lambda: len(named()) == 1, "the refusal has its line")
        (line,) = named()
        assert (line["method"], line["operation"], line["status"], line["code"]) == ("-", "-", 429, "RATE_LIMITED")
        assert line["octetsOut"] == len(answer.partition(b"\r\n\r\n")[2])
        assert "127.0.0.1" not in json.dumps(line)


def test_closed_pipelined_connection_is_no_failure(tmp_path: Path) -> None:
    """The answer of a large document is still being written when the client has gone."""
    with service_process.service(tmp_path / "data") as running:
        host = urlsplit(running.wire.url)
        for _ in range(5):
            with socket.socket() as connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1_024)
                connection.connect((host.hostname, host.port))
                connection.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 2)
                time.sleep(0.2)
        assert running.wire.call("GET", f"{PREFIX}/health").status == 200
    text = running.log.read_text()
    assert "INTERNAL_ERROR" not in text
    assert "Traceback" not in text
    assert "never retrieved" not in text
