"""A temporary server with its own data directory and a free port, which ends with the command."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import httpx
from msgspec import Struct

from identity_codec.values import Hidden
from identity_core.cli.output import fail

START_SECONDS = 60.0
STOP_SECONDS = 15.0
_LISTENING = re.compile(r"^Listening at (\S+)", re.MULTILINE)
_REASON = re.compile(r"^error: (.*)\n  at: (.*)\n  do: (.*)\Z", re.MULTILINE)


class LocalServer(Hidden, Struct, frozen=True):
    """A running server: its URL, the API key that it takes, its data directory and its log."""

    url: str
    api_key: str
    data_dir: Path
    log: Path
    process: int


@contextlib.contextmanager
def local_server(
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    path: Path | None = None,
    within: Path | None = None,
    popen: Callable[..., subprocess.Popen[bytes]] = subprocess.Popen,
) -> Iterator[LocalServer]:
    """Run ``identity serve`` with ``arguments`` and further variables. Yield when it is ready, and stop it afterwards. ``path`` is
    the first entry of its import path. Its folder is created ``within``, and ``popen`` starts the process."""
    with tempfile.TemporaryDirectory(prefix="identity-", dir=within) as folder:
        key = secrets.token_urlsafe(32)
        data_dir, log = Path(folder) / "data", Path(folder) / "server.log"
        command = [sys.executable, "-m", "identity_core", "serve", "--host", "127.0.0.1", "--port", "0"]
        command += ["--data-dir", str(data_dir), *arguments]
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
        inherited |= {"API_KEY": key} | dict(environment or {})
        if path is not None:
            inherited["PYTHONPATH"] = os.pathsep.join(filter(None, (str(path), os.environ.get("PYTHONPATH"))))
        with log.open("wb") as output:
            process = popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=inherited)
            try:
                url = _await_ready(process, log)
                yield LocalServer(url, key, data_dir, log, process.pid)
            finally:
                process.terminate()
                try:
                    process.wait(STOP_SECONDS)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()


def _await_ready(process: subprocess.Popen[bytes], log: Path) -> str:
    """Wait until the server reports that it is ready, and return its URL."""
    deadline = time.monotonic() + START_SECONDS
    with httpx.Client(trust_env=False, verify=False) as http:  # noqa: S501  (it speaks plain HTTP)
        while True:
            listening = _LISTENING.search(log.read_text(errors="replace"))
            if listening is not None:
                with contextlib.suppress(httpx.TransportError):
                    if http.get(f"{listening[1]}/ready", timeout=START_SECONDS).status_code == 200:
                        return listening[1]
            if time.monotonic() > deadline or process.poll() is not None:
                _not_ready(log)
            time.sleep(0.02)


def _not_ready(log: Path) -> NoReturn:
    """End the command with the three lines that the server reported, if it reported any."""
    tail = log.read_text(errors="replace")[-2000:].strip()
    what = "the server did not become ready"
    reason = _REASON.search(tail)
    if reason is not None:
        fail(f"{what}: {reason[1]}", reason[2], reason[3])
    fail(what, tail or str(log), "run `identity serve` and read what it says")
