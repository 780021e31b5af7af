"""A service that tests may kill: its data directory stays when the process goes."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from identity_core.cli.local_server import free_port
from tests.attack.stranger import GENEROUS, Stranger, Wire

API_KEY = "fault-test-key-0000000000000000000000000000"
START_SECONDS = 30.0


@dataclass
class Running:
    """A started service. ``seconds`` is the time from the start of the process to its first 200 on /ready."""

    process: subprocess.Popen[bytes]
    wire: Wire
    stranger: Stranger
    log: Path
    seconds: float

    def kill(self) -> None:
        """SIGKILL to the whole process group, workers included, as a power cut would take them all."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(10)


def start(
    data_dir: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> Running:
    """Runs ``identity serve`` on ``data_dir`` and a free port until it is ready; ``before`` are the words of a command that runs it."""
    port = free_port()
    log = data_dir.parent / f"{data_dir.name}.log"
    command = [*before, sys.executable, "-m", "identity_core", "serve", "--host", "127.0.0.1"]
    command += ["--port", str(port), "--data-dir", str(data_dir), *arguments]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    inherited |= {"API_KEY": API_KEY} | GENEROUS | dict(environment or {})
    began = time.monotonic()
    with log.open("ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=inherited, start_new_session=True)
    wire = Wire(f"http://127.0.0.1:{port}")
    running = Running(process, wire, Stranger(wire, API_KEY), log, 0.0)
    while time.monotonic() - began < START_SECONDS and process.poll() is None:
        with contextlib.suppress(OSError):
            if wire.call("GET", "/ready").status == 200:
                running.seconds = time.monotonic() - began
                return running
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        running.kill()
    raise RuntimeError(f"the service did not become ready: {log.read_text(errors='replace')[-3000:]}")


@contextlib.contextmanager
def service(
    data_dir: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
) -> Iterator[Running]:
    """``start``, and killed at the end."""
    running = start(data_dir, *arguments, environment=environment, before=before)
    try:
        yield running
    finally:
        running.wire.close()
        if running.process.poll() is None:
            running.kill()
