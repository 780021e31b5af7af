"""Starts ``identity`` without starting Python: ``server_factory`` has imported the service, and forks when one is asked for.

What is forked has the words, the variables, the output and the session that were asked for, as a process of its own would; its start costs
a fifth. Tests of the start itself (what is imported when, how workers are replaced) start real processes.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import entry_points
from pathlib import Path
from typing import IO, Any

from identity_commands.local_server import LocalServer
from identity_commands.local_server import local_server as unforked

from tests.memory import folder_in_memory

PROGRAM = [sys.executable, "-m", "identity_core"]
ROOT = Path(__file__).resolve().parents[1]
FACTORY = ROOT / "tests" / "server_factory.py"
# Where a test is not about deadlines, what works may wait for a busy machine.
PATIENT = {
    "IDENTITY_CUSTODIAN_DEADLINE_SECONDS": "60",
    "IDENTITY_LEDGER_DEADLINE_SECONDS": "60",
    "IDENTITY_PLUGINS_DEADLINE_SECONDS": "60",
    "IDENTITY_PROVER_DEADLINE_SECONDS": "60",
}
# Where a test is not about what a passphrase costs: the default is a second at each start.
CHEAP_PASSPHRASE = {"IDENTITY_PLUGINS_SEALED_ARGON2_MEMORY_MIB": "8", "IDENTITY_PLUGINS_SEALED_ARGON2_OPERATIONS": "1"}
# Extensions that are off by default, of those that are installed. A test of what is off sets the variable to "".
OFF_BY_DEFAULT = ("agents", "vcalm", "wallets")
ENABLED = {
    "IDENTITY_EXTENSIONS_ENABLED": ",".join(
        one.name for one in entry_points(group="identity.plugins") if one.name in OFF_BY_DEFAULT
    )
}


class Factory:
    """The factory's side that asks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._channel, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # Paths of modules are said with each order.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        self.process = subprocess.Popen(
            [sys.executable, "-P", str(FACTORY), str(other.fileno())],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            pass_fds=[other.fileno()],
            start_new_session=True,
        )
        other.close()
        atexit.register(self.close)

    def close(self) -> None:
        self._channel.close()
        self.process.wait(60)

    def ask(self, order: Mapping[str, Any], descriptors: Sequence[int] = ()) -> int:
        with self._lock:
            socket.send_fds(self._channel, [json.dumps(order).encode()], descriptors)
            answer = self._channel.recv(64)
        if not answer:
            raise RuntimeError(f"the factory has ended with {self.process.wait(60)}")
        return int(answer)


@functools.cache
def factory() -> Factory:
    """One for this process, made when it is first needed. It ends with us, however that is: its socket does."""
    return Factory()


class Forked:
    """What tests use of ``subprocess.Popen``, for a child of the factory."""

    def __init__(self, order: Mapping[str, Any], descriptors: Sequence[int]) -> None:
        self.returncode: int | None = None
        self.pid = factory().ask(order, descriptors)
        # Becomes readable when the process ends, and means no other process of that number.
        self._process = os.pidfd_open(self.pid)
        self._reaping = threading.Lock()

    def __del__(self) -> None:
        os.close(self._process)

    def poll(self) -> int | None:
        return self._status_within(0)

    def wait(self, timeout: float | None = None) -> int:
        status = self._status_within(timeout)
        if status is None:
            raise subprocess.TimeoutExpired(PROGRAM, timeout or 0.0)
        return status

    def _status_within(self, seconds: float | None) -> int | None:
        looking = select.poll()
        looking.register(self._process, select.POLLIN)
        if looking.poll(None if seconds is None else seconds * 1000):
            with self._reaping:
                if self.returncode is None:
                    self.returncode = factory().ask({"ended": self.pid})
        return self.returncode

    def send_signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self._process, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)


def popen(
    command: Sequence[str],
    *,
    env: Mapping[str, str] | None = None,
    stdin: int | IO[bytes] | None = None,
    stdout: int | IO[bytes] | None = None,
    stderr: int | IO[bytes] | None = None,
    start_new_session: bool = False,
) -> Forked:
    """``subprocess.Popen`` for ``python -m identity_core``, with files or DEVNULL as its three streams."""
    if list(command[:3]) != PROGRAM:
        raise ValueError(f"not a command of this interpreter: {command}")
    order = {
        "arguments": [*command[3:]],
        "environment": dict(os.environ if env is None else env),
        "folder": os.getcwd(),
        "session": start_new_session,
    }
    with open(os.devnull, "r+b") as nothing:
        streams = [
            number if stream is None else nothing.fileno() if stream == subprocess.DEVNULL else stream.fileno()  # type: ignore[union-attr]
            for number, stream in enumerate((stdin, stdout, stderr))
        ]
        return Forked(order, streams)


def run(
    *arguments: str | Path, environment: Mapping[str, str] | None = None, timeout: float = 120.0
) -> subprocess.CompletedProcess[str]:
    """``identity`` with ``arguments``, to its end; what it printed is text."""
    command = [*PROGRAM, *map(str, arguments)]
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        try:
            status = process.wait(timeout)
        finally:
            process.kill()
            process.wait()
        printed = [(file.seek(0), file.read().decode())[1] for file in (output, errors)]
    return subprocess.CompletedProcess(command, status, *printed)


@contextlib.contextmanager
def local_server(
    *arguments: str, environment: Mapping[str, str] | None = None, path: Path | None = None
) -> Iterator[LocalServer]:
    """Start the server of ``identity_core.cli`` in a fork, with long timeouts, every installed extension on, and its files in memory."""
    patient = PATIENT | ENABLED | dict(environment or {})
    with (
        folder_in_memory(Path(tempfile.gettempdir())) as within,
        unforked(*arguments, environment=patient, path=path, within=within, popen=popen) as server,
    ):
        yield server
