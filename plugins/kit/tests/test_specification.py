"""``identity conformance`` runs the stories of the specification against any service."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest

from tests.servers import PROGRAM, local_server


@contextmanager
def served(answer: Any) -> Iterator[str]:
    """Yield the URL of a server whose answers are ``answer(method, path, headers, body)``: status, headers, body."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def respond(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, headers, content = answer(self.command, self.path, dict(self.headers), body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PATCH = do_DELETE = respond

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def conformance(*words: str, status: int, api_key: str = "key") -> dict[str, Any]:
    """Return the report of a run."""
    call = [*PROGRAM, "conformance", *words, "--json"]
    done = subprocess.run(
        call, env=os.environ | {"IDENTITY_API_KEY": api_key}, capture_output=True, text=True, timeout=900
    )
    assert done.returncode == status, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def test_every_story_fails_when_a_service_answers_errors() -> None:
    with served(lambda *_: (500, {"Content-Type": "application/json"}, b"{}")) as url:
        report = conformance(url, status=1)
    assert report["failed"] > 90
    assert (report["passed"], report["skipped"]) == (0, 1)
    assert {story["story"] for story in report["stories"] if story["outcome"] == "skipped"} == {"anchoring_is_off"}
    assert all(story["reason"] for story in report["stories"])


def test_conformance_requires_an_api_key() -> None:
    environment = {name: value for name, value in os.environ.items() if name != "IDENTITY_API_KEY"}
    call = [*PROGRAM, "conformance", "http://127.0.0.1:9"]
    done = subprocess.run(call, env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, "an API key is missing" in done.stderr) == (2, True)


@pytest.mark.nightly
def test_service_conforms() -> None:
    with local_server() as server:
        report = conformance(server.url, status=0, api_key=server.api_key)
    assert report["passed"] > 90
    assert (report["failed"], report["skipped"]) == (0, 1)


@pytest.mark.nightly
def test_broken_service_does_not_conform() -> None:
    """Only stories of deactivation fail if the answer to it has a member that the specification does not have."""
    with local_server() as server:

        def forward(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, dict[str, str], bytes]:
            kept = {name: value for name, value in headers.items() if name.lower() not in ("host", "accept-encoding")}
            answer = httpx.request(method, server.url + path, headers=kept, content=body, timeout=120)
            content = answer.content
            if method == "DELETE" and answer.status_code == 200:
                content = json.dumps(answer.json() | {"reason": "more"}).encode()
            named = {name: answer.headers[name] for name in ("Content-Type", "Retry-After") if name in answer.headers}
            return answer.status_code, named, content

        with served(forward) as url:
            report = conformance(url, status=1, api_key=server.api_key)
    failed = [story["story"] for story in report["stories"] if story["outcome"] == "failed"]
    assert failed
    assert report["passed"] > 90
    assert all("deactivat" in name for name in failed), failed
