"""The clients of the guide's replicas tell what is lost, what is done twice, and what is never acknowledged."""

from __future__ import annotations

import http.server
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

LOAD = Path(__file__).with_name("load.py")


class Replica(http.server.BaseHTTPRequestHandler):
    """Acknowledges creations, each Idempotency-Key once; ``created`` is what it shows afterwards."""

    protocol_version = "HTTP/1.1"
    created: dict[str, str]
    status = 201

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        if self.status != 201:
            self._answer(self.status, {"error": {"code": "REFUSED"}})
            return
        did = self.created.setdefault(self.headers["Idempotency-Key"], f"did:ids:{len(self.created)}")
        self._answer(201, {"did": did, "transactionHash": f"of {did}"})

    def do_GET(self) -> None:
        if "/history" in self.path:
            did = self.path.split("/")[4].replace("%3A", ":")
            self._answer(200, {"items": [{"transactionHash": f"of {did}"}]})
        else:
            self._answer(200, {"items": [{"did": did} for did in self.created.values()], "nextCursor": None})

    def _answer(self, status: int, body: dict[str, Any]) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: Any) -> None:
        """Nothing."""


@pytest.fixture
def replica() -> Iterator[tuple[type[Replica], str]]:
    handler = type("Made", (Replica,), {"created": {}})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield handler, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def loaded(url: str, folder: Path, change: Any) -> subprocess.CompletedProcess[str]:
    """What the clients say at the end, when ``change`` was done while they created."""
    (folder / "key").write_text("key\n")
    command = [sys.executable, "-I", str(LOAD), url, str(folder / "key"), str(folder / "begun"), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while not (folder / "begun").exists() and process.poll() is None:
            threading.Event().wait(0.02)
        change()
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
    return subprocess.CompletedProcess(command, process.returncode, out, err)


def test_all_is_there(replica: tuple[type[Replica], str], tmp_path: Path) -> None:
    done = loaded(replica[1], tmp_path, lambda: None)
    assert (done.returncode, done.stderr) == (0, "")
    assert "all at 1 replicas; answered otherwise before: nothing" in done.stdout


def test_lost_entry_is_reported(replica: tuple[type[Replica], str], tmp_path: Path) -> None:
    # A replica that shows less than it has acknowledged.
    handler = replica[0]
    kept = handler.created

    def lose() -> None:
        handler.created = dict(list(kept.items())[1:])

    done = loaded(replica[1], tmp_path, lose)
    assert done.returncode == 1
    assert "has lost 1 of " in done.stderr


def test_duplicate_entry_is_reported(replica: tuple[type[Replica], str], tmp_path: Path) -> None:
    done = loaded(replica[1], tmp_path, lambda: replica[0].created.update(more="did:ids:more"))
    assert done.returncode == 1
    assert "has 1 without acknowledgement" in done.stderr


def test_final_refusal_is_reported(replica: tuple[type[Replica], str], tmp_path: Path) -> None:
    replica[0].status = 403
    done = loaded(replica[1], tmp_path, lambda: None)
    assert done.returncode == 1
    assert "403 REFUSED" in done.stderr


def test_two_creations_that_are_one_are_told(replica: tuple[type[Replica], str], tmp_path: Path) -> None:
    class Forgetful(dict[str, str]):
        """Gives everybody the same DID."""

        def setdefault(self, key: str, default: str = "") -> str:
            return super().setdefault("", "did:ids:same")

    replica[0].created = Forgetful()
    done = loaded(replica[1], tmp_path, lambda: None)
    assert done.returncode == 1
    assert "two creations are one: did:ids:same" in done.stderr
