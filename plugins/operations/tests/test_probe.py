"""``identity probe``: good news from a service that works, the first step that does not, and nothing left behind."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import pytest
from identity_commands.local_server import LocalServer

from tests.servers import local_server
from tests.unit.cli.conftest import Commands

Lie = Callable[[str, int, bytes], tuple[int, bytes]]
STEPS = ["ready", "create", "resolve", "issue", "delegate", "prove", "verify", "end"]


class Liar(ThreadingHTTPServer):
    """Hands requests on to the service at ``url``, and its answers as ``lie`` makes them of path, status and body."""

    def __init__(self, url: str) -> None:
        super().__init__(("127.0.0.1", 0), Between)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        self.lie: Lie = lambda _, status, body: (status, body)
        self.behind = httpx.Client(base_url=url, timeout=60, trust_env=False)
        self.asked: list[tuple[str, str]] = []


class Between(BaseHTTPRequestHandler):
    server: Liar

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: self.headers[name] for name in ("Authorization", "Content-Type") if name in self.headers}
        got = self.server.behind.request(self.command, self.path, content=body, headers=headers)
        self.server.asked.append((self.command, self.path))
        status, content = self.server.lie(self.path.partition("?")[0], got.status_code, got.content)
        self.send_response(status)
        self.send_header("Content-Type", got.headers["Content-Type"])
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_GET = do_POST = do_DELETE = answer

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""


@pytest.fixture
def liar(server: LocalServer) -> Iterator[Liar]:
    with Liar(server.url) as between:
        thread = threading.Thread(target=between.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield between
        between.shutdown()
        thread.join()
        between.behind.close()


@pytest.fixture
def probed(server: LocalServer, here: object, liar: Liar) -> Commands:
    """Commands that call the service through the liar."""
    return Commands({"IDENTITY_URL": liar.url, "IDENTITY_ORIGIN": server.url, "IDENTITY_API_KEY": server.api_key})


def changed(ends: str, **members: Any) -> Lie:
    """Members of the answers to paths that end so."""

    def lie(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        return (status, json.dumps(json.loads(body) | members).encode()) if path.endswith(ends) else (status, body)

    return lie


def deactivated(liar: Liar) -> int:
    return sum(method == "DELETE" for method, _ in liar.asked)


def test_a_service_that_works_passes_every_step_and_keeps_no_did(remote: Commands, server: LocalServer) -> None:
    report = remote.json("probe", server.url, "--timeout", "60")
    assert (report["healthy"], report["failed"], report["left"]) == (True, None, [])
    assert list(report["milliseconds"]) == STEPS
    assert all(spent > 0 for spent in report["milliseconds"].values())


def test_no_credential_in_force_is_left(here: object) -> None:
    """`identity doctor` warned for ever of the credential of suite 1 that each run left."""
    with local_server() as own:
        commands = Commands({"IDENTITY_API_KEY": own.api_key})
        commands.ok("probe", own.url, "--timeout", "60")
        found = commands.json("doctor", "--data-dir", own.data_dir)
        assert "every active credential is of suite 2" in json.dumps(found)


def test_a_person_reads_one_line(probed: Commands, liar: Liar) -> None:
    [line] = probed.ok("probe", "--timeout", "60").splitlines()
    assert line.startswith("8 steps in ")
    assert all(f"{step} " in line for step in STEPS)
    assert deactivated(liar) == 2


@pytest.mark.parametrize(
    ("lie", "step", "says"),
    [
        (changed("/verify", verified=True), "verify", "a forged proof is verified"),
        (changed("/verify", verdict="unbound", errors=[]), "verify", "the proof is unbound"),
        (changed("/zkp/delegated-proofs", proof="?"), "verify", "not of the form"),
        (changed("/zkp/delegated-proofs", proof={"proof": ""}), "verify", "not of the form"),
        (
            lambda path, status, body: (503, b'{"error": "down"}') if path.endswith("/ready") else (status, body),
            "ready",
            "",
        ),
        (
            lambda path, status, body: (status, b"") if path.endswith("/log") else (status, body),
            "resolve",
            "not what the operation returns",
        ),
        (
            lambda path, status, body: (
                (status, body.replace(b'"publicKeyMultibase":"z', b'"publicKeyMultibase":"y'))
                if "/dids/" in path and not path.endswith("/log")
                else (status, body)
            ),
            "resolve",
            "not the one of the DID's log",
        ),
    ],
)
def test_the_first_step_that_is_wrong_is_named_and_the_dids_end(
    probed: Commands, liar: Liar, lie: Lie, step: str, says: str
) -> None:
    liar.lie = lie
    what, _, _ = probed.refused("probe", "--timeout", "60")
    assert what.startswith(f"error: {step}: ")
    assert says in what
    assert deactivated(liar) == (0 if step == "ready" else 2)


def test_programs_get_the_report_of_a_failure_too(probed: Commands, liar: Liar) -> None:
    liar.lie = changed("/verify", verified=True)
    result = probed("probe", "--json", "--timeout", "60")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["healthy"], report["failed"]) == (1, False, "verify")
    assert list(report["milliseconds"]) == [*STEPS[:-2], "end"]


def test_a_did_that_does_not_end_is_a_failure_that_names_it(probed: Commands, liar: Liar) -> None:
    def lie(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        return (500, b"{}") if liar.asked[-1][0] == "DELETE" else (status, body)

    liar.lie = lie
    assert "not deactivated: did:ids:" in probed.refused("probe", "--timeout", "60")[0]


def test_too_slow_is_a_failure(probed: Commands, liar: Liar) -> None:
    def lie(path: str, status: int, body: bytes) -> tuple[int, bytes]:
        # Longer than all steps together may take, in the first of them.
        time.sleep(0.2 if path.endswith("/ready") else 0)
        return status, body

    liar.lie = lie
    result = probed("probe", "--within", "0.1", "--json", "--timeout", "60")
    report = json.loads(result.stdout)
    assert (result.exit_code, report["failed"]) == (1, "within")
    assert sum(report["milliseconds"].values()) > 100


def test_nobody_there_no_key_and_no_url_are_told(remote: Commands, server: LocalServer, identity: Commands) -> None:
    assert remote.refused("probe", "http://127.0.0.1:1")[0].startswith("error: ready: ")
    assert "AUTH_REQUIRED" in identity.refused("probe", server.url)[0]
    assert "Missing argument" in identity.refused("probe", status=2)[0]


def test_one_scope_is_enough(identity: Commands, server: LocalServer) -> None:
    words = ("--name", "probe", "--scopes", "dids:create", "--any-target", "--data-dir", server.data_dir)
    key = identity.json("keys", "create", *words)
    allowed = Commands({"IDENTITY_API_KEY": key["apiKey"]})
    assert allowed.json("probe", server.url, "--timeout", "60")["healthy"] is True
