"""A server of one's own for a while: a temporary data directory, a free port, ended with the command."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import httpx

from identity_core.cli.output import fail

START_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class LocalServer:
    """Where the server listens, the API key that it takes, and its data directory."""

    url: str
    api_key: str
    data_dir: Path


def free_port() -> int:
    """A port of the loopback interface that nobody uses right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def local_server(
    *arguments: str, environment: Mapping[str, str] | None = None, path: Path | None = None
) -> Iterator[LocalServer]:
    """Runs ``identity serve`` with ``arguments`` and further variables; yields when it is ready, stops it afterwards. ``path`` is put
    before the others that modules are imported from."""
    with tempfile.TemporaryDirectory(prefix="identity-") as folder:
        key = secrets.token_urlsafe(32)
        url = f"http://127.0.0.1:{free_port()}"
        log = Path(folder) / "server.log"
        command = [sys.executable, "-m", "identity_core", "serve", "--host", "127.0.0.1"]
        command += ["--port", url.rpartition(":")[2], "--data-dir", folder, *arguments]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
        inherited |= {"API_KEY": key} | dict(environment or {})
        if path is not None:
            inherited["PYTHONPATH"] = os.pathsep.join(filter(None, (str(path), os.environ.get("PYTHONPATH"))))
        with log.open("wb") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=inherited)
            try:
                _await_ready(process, url, log)
                yield LocalServer(url, key, Path(folder))
            finally:
                process.terminate()
                try:
                    process.wait(10)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _await_ready(process: subprocess.Popen[bytes], url: str, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(trust_env=False) as http:
        while time.monotonic() < deadline and process.poll() is None:
            with contextlib.suppress(httpx.TransportError):
                if http.get(f"{url}/ready", timeout=1).status_code == 200:
                    return
            time.sleep(0.05)
    tail = log.read_text(errors="replace")[-2000:].strip()
    fail("the server did not become ready", tail or str(log), "run `identity serve` and read what it says")
