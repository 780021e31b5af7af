"""A server process of a benchmark: started, asked, measured, pinned to a core, and ended with all its workers.

CPU is user and system time of the process tree, from ``/proc/PID/stat``. With two cores or more a server of one process has
the first core and the client the last; a server of several workers is not pinned.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import secrets
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
TICK = os.sysconf("SC_CLK_TCK")
# The first start on a million seeded entries puts every one of them into the transparency log.
START_SECONDS = 900.0
PROVER = b"identity-prover"
"""In the command line of a prover process."""
UNLIMITED = {
    f"IDENTITY_THROTTLE_{bucket}_{what}": "1000000"
    for bucket in ("KEY", "ADDRESS", "CHALLENGE", "DID")
    for what in ("PER_SECOND", "BURST")
}
LIMITED = {"IDENTITY_THROTTLE_ADDRESS_PER_SECOND": "0.001", "IDENTITY_THROTTLE_ADDRESS_BURST": "1"}


@dataclass(frozen=True)
class Server:
    """A server process, where it listens, and how long it took from its start to its first answer to the probe."""

    pid: int
    url: str
    seconds: float = 0.0

    def family(self) -> dict[int, Path]:
        """The process and its living descendants, with their folders under ``/proc``."""
        parents = {}
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                with contextlib.suppress(OSError):
                    parents[int(entry.name)] = int(_stat(entry)[1])
        family = {self.pid}
        while grown := {pid for pid, parent in parents.items() if parent in family} - family:
            family |= grown
        return {pid: Path(f"/proc/{pid}") for pid in family}

    def cpu_seconds(self) -> float:
        """User and system time of the family so far."""
        return sum(self.cpu_apart())

    def cpu_apart(self) -> tuple[float, float]:
        """The same for the server's processes and for those of its prover."""
        ticks = [0, 0]
        for folder in self.family().values():
            with contextlib.suppress(OSError):
                fields = _stat(folder)
                is_prover = PROVER in (folder / "cmdline").read_bytes()
                ticks[is_prover] += int(fields[11]) + int(fields[12])
        return ticks[0] / TICK, ticks[1] / TICK

    def ask(self, path: str, headers: Mapping[str, str] | None = None, method: str = "GET", body: str = "") -> Reply:
        """One request on a connection of its own."""
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(str(parts.hostname), parts.port, timeout=10)
        try:
            connection.request(method, path, body or None, dict(headers or {}))
            answer = connection.getresponse()
            return Reply(answer.status, answer.read(), {name.lower(): value for name, value in answer.getheaders()})
        finally:
            connection.close()


def _stat(folder: Path) -> list[str]:
    return (folder / "stat").read_text().rpartition(")")[2].split()


@dataclass(frozen=True)
class Reply:
    """An answer."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


def can_pin() -> bool:
    """Whether there is a core for each side."""
    return shutil.which("taskset") is not None and (os.cpu_count() or 1) > 1


def pinned(command: list[str], *, to_server: bool) -> list[str]:
    """``command`` on the server's core or on the other side's."""
    core = 0 if to_server else (os.cpu_count() or 1) - 1
    return ["taskset", "-c", str(core), *command] if can_pin() else command


@contextlib.contextmanager
def on_client_core(*, pin: bool) -> Iterator[None]:
    """Keeps this process off the server's core for a while."""
    before = os.sched_getaffinity(0)
    if pin and can_pin():
        os.sched_setaffinity(0, {(os.cpu_count() or 1) - 1})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextlib.contextmanager
def running(
    command: list[str], environment: Mapping[str, str], probe: str, *, status: int, pin: bool
) -> Iterator[Server]:
    """Runs a server whose port is the ``{port}`` of ``command`` until it answers ``probe`` with ``status``; stops it afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    filled = [part.replace("{port}", str(port)) for part in command]
    # Bytecode is kept as an installation keeps it, else a start compiles a thousand modules.
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith("IDENTITY_") and name != "PYTHONDONTWRITEBYTECODE"
    }
    # The end of the benchmark ends its servers too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryFile() as output:
        began = time.monotonic()
        process = subprocess.Popen(
            pinned(filled, to_server=True) if pin else filled,
            env=inherited | dict(environment),
            cwd=ROOT,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
        try:
            server = Server(process.pid, f"http://127.0.0.1:{port}")
            while not _answers(server, probe, status):
                if process.poll() is not None or time.monotonic() > began + START_SECONDS:
                    output.seek(0)
                    raise SystemExit(f"the server did not start: {output.read().decode()[-3000:]}")
                time.sleep(0.005)
            yield Server(process.pid, server.url, time.monotonic() - began)
        finally:
            _stop(process)


def _answers(server: Server, probe: str, status: int) -> bool:
    try:
        return server.ask(probe).status == status
    except (OSError, http.client.HTTPException):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """Ends the whole group, kindly first. Nothing of it is left afterwards."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, how)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(20)


def serve(
    data_dir: Path, *, workers: int, limits: Mapping[str, str], key: str, pin: bool = True
) -> contextlib.AbstractContextManager[Server]:
    """The real server on ``data_dir``, ready to answer; of one worker it is pinned unless ``pin`` is False."""
    command = [sys.executable, "-m", "identity_core", "serve", "--port", "{port}", "--data-dir", str(data_dir)]
    command += ["--workers", str(workers)]
    return running(command, {"API_KEY": key, **limits}, "/ready", status=200, pin=pin and workers == 1)


@contextlib.contextmanager
def fresh_server(workers: int, limits: Mapping[str, str], folder: Path | None = None) -> Iterator[tuple[Server, str]]:
    """``serve`` in a new directory below ``folder``, and an API key for it."""
    key = secrets.token_urlsafe(32)
    with (
        tempfile.TemporaryDirectory(prefix="bench-", dir=folder) as place,
        serve(Path(place), workers=workers, limits=limits, key=key) as server,
    ):
        yield server, key


def fdatasync_ms(folder: Path) -> float:
    """The median of 100 writes of a page in ``folder``, each followed by ``fdatasync``: what a durable answer waits for."""
    times = []
    with tempfile.NamedTemporaryFile(dir=folder) as file:
        for _ in range(100):
            os.pwrite(file.fileno(), bytes(4096), 0)
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000
