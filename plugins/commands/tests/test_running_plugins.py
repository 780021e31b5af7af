"""``identity plugins list --url`` against services that answer what a test wants."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest
from identity_commands.running_plugins import as_running, conditions
from identity_commands.status import command as show_status

from identity_core.plugin.choose import InstalledPlugin

PLUGINS = {
    "ledger:sql": {"state": "shut off"},
    "prover:bbs": {"state": "active", "processes": {"wanted": 2, "ready": 1, "restarts": 3}},
    "bearer:corporate": {"state": "active"},
}


class Service(BaseHTTPRequestHandler):
    status: ClassVar[int] = 200
    body: ClassVar[Any] = {}

    def do_GET(self) -> None:
        self.send_response(200 if self.path.endswith("/version") else self.status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(self.body).encode())

    def log_message(self, *args: Any) -> None:
        """Quiet."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("status", [200, 503])
def test_a_service_tells_how_its_plugins_do_ready_or_not(url: str, status: int) -> None:
    Service.status, Service.body = status, {"status": "x", "dependencies": {}, "plugins": PLUGINS}
    assert conditions(url, api_key="idk_an_admins") == PLUGINS


def test_a_service_that_does_not_show_them_ends_the_command(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    Service.status, Service.body = 200, {"status": "ready"}
    with pytest.raises(SystemExit):
        conditions(url, api_key=None)
    assert "service:read" in capsys.readouterr().err


def test_nobody_there_ends_the_command() -> None:
    with pytest.raises(SystemExit):
        conditions("http://127.0.0.1:9", api_key=None)


def test_states_of_the_service_replace_those_of_the_installation() -> None:
    rows = [
        InstalledPlugin("sql", "identity_provide_ledger_backend", "identity-ledger-sql", "1.0.0", "chosen"),
        InstalledPlugin("memory", "identity_provide_ledger_backend", "identity-ledger-memory", "1.0.0", "available"),
        InstalledPlugin("webvh", "identity_provide_did_method", "identity-did-webvh", "1.0.0", "chosen"),
        InstalledPlugin("bbs", "identity_provide_prover", "identity-prover-bbs", "1.0.0", "chosen", "", "proofs"),
        InstalledPlugin("corporate", "-", "identity-corporate", "1.0.0", "failed", "import failed"),
    ]
    shown = as_running(rows, PLUGINS)
    assert [(row.name, row.state, row.reason, row.distribution) for row in shown] == [
        ("sql", "shut off", "", "identity-ledger-sql"),
        ("memory", "available", "", "identity-ledger-memory"),
        ("webvh", "available", "the service does not use it", "identity-did-webvh"),
        ("bbs", "active", "1 of 2 processes, 3 restarts", "identity-prover-bbs"),
        ("corporate", "failed", "import failed", "identity-corporate"),
        ("corporate", "active", "", ""),
    ]


@pytest.mark.parametrize(("status", "state"), [(200, "ready"), (503, "unavailable")])
def test_status_shows_version_and_readiness(
    url: str, capsys: pytest.CaptureFixture[str], status: int, state: str
) -> None:
    Service.status, Service.body = status, {"status": state, "dependencies": {"ledger": "ok"}, "plugins": PLUGINS}
    Service.body |= {"version": "1.1.0", "build": "31", "interface": "1.0.0", "extensions": "oauth, ui"}
    with contextlib.suppress(SystemExit):
        show_status(["--url", url], standalone_mode=False)
    shown = capsys.readouterr()
    assert shown.out.splitlines()[:3] == [
        f"{url}: {state}",
        "version 1.1.0 (build 31, interface 1.0.0)",
        "extensions: oauth, ui",
    ]
    assert "  prover:bbs: active" in shown.out
    assert ("not ready" in shown.err) == (status == 503)
