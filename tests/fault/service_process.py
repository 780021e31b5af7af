"""A service that tests may kill: its data directory stays when the process goes."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests import servers
from tests.attack.stranger import GENEROUS, Stranger, Wire

ROOT = Path(__file__).parents[2]
API_KEY = "fault-test-key-0000000000000000000000000000"
START_SECONDS = 60.0
# As ``before``: not forked, nor are its workers, but started as an operator would.
STARTED = ("env",)
# With JSON on standard output and with text.
LISTENING = re.compile(rb"(http://127\.0\.0\.1:[1-9][0-9]*)")


@dataclass
class Running:
    """A started service. ``seconds`` is the time from the start of the process to its first 200 on /ready."""

    process: subprocess.Popen[bytes] | servers.Forked
    wire: Wire
    stranger: Stranger
    log: Path
    seconds: float

    def kill(self) -> None:
        """SIGKILL to the whole process group, workers included, as a power cut would take them all."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
        end = time.monotonic() + 60
        while _lives(self.process.pid):
            # A worker that still ends holds the port.
            assert time.monotonic() < end, "a process of the group outlives SIGKILL"
            time.sleep(0.01)


def _lives(group: int) -> bool:
    """Whether a process of the group has not ended yet (proc(5): state and group are fields 3 and 5 of ``stat``). One whose first thread
    is a zombie keeps its sockets until the last, which may wait for the disk, has ended."""
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, its_group = path.read_text().rpartition(")")[2].split()[:3]
            if int(its_group) == group and (state not in "ZX" or len(list(path.with_name("task").iterdir())) > 1):
                return True
    return False


def start(
    data_dir: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    checkout: Path = ROOT,
) -> Running:
    """Runs ``identity serve`` on ``data_dir`` until it is ready; ``before`` are words of a command that runs it (``STARTED``). It takes a
    free port and says which; with ``--port`` among the ``arguments`` it need not say, as one behind a public URL does not.

    ``checkout``: the tree of an earlier commit, which is installed in its ``.venv``."""
    # A log on a disk that a test fills could not tell what the service did.
    folder = data_dir.parent.parent if data_dir.parent.is_mount() else data_dir.parent
    log = folder / f"{data_dir.name}.log"
    own = (sys.executable,) if checkout == ROOT else ("env", "-C", str(checkout), str(checkout / ".venv/bin/python"))
    command = [*before, *own, "-m", "identity_core", "serve", "--host", "127.0.0.1"]
    command += ["--port", "0", "--data-dir", str(data_dir), *arguments]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    inherited |= {"API_KEY": API_KEY} | GENEROUS | servers.PATIENT | dict(environment or {})
    # Plugins in the making are found from the root of the checkout.
    inherited["PYTHONPATH"] = os.pathsep.join(filter(None, (str(checkout), os.environ.get("PYTHONPATH"))))
    began = time.monotonic()
    with log.open("ab") as output:
        earlier = output.tell()
        begun = subprocess.Popen if before else servers.popen
        process = begun(command, stdout=output, stderr=output, env=inherited, start_new_session=True)
    while time.monotonic() - began < START_SECONDS and process.poll() is None:
        url = _url(arguments, log.read_bytes()[earlier:])
        wire = Wire(url or "http://127.0.0.1:0")
        with contextlib.suppress(OSError):
            if url is not None and wire.call("GET", "/ready").status == 200:
                return Running(process, wire, Stranger(wire, API_KEY), log, time.monotonic() - began)
        wire.close()
        time.sleep(0.02)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(60)
    raise RuntimeError(f"the service did not become ready: {log.read_text(errors='replace')[-3000:]}")


def _url(arguments: Sequence[str], said: bytes) -> str | None:
    if "--port" in arguments:
        return f"http://127.0.0.1:{arguments[arguments.index('--port') + 1]}"
    found = LISTENING.search(said)
    return None if found is None else found[1].decode()


@contextlib.contextmanager
def kept_port() -> Iterator[int]:
    """Yield a port for a service. While it is bound here, the system does not assign it to a program that asks for any port.

    A service that asks for this port gets it, because neither of the two sockets insists and this one does not listen.
    """
    with socket.socket() as keeper:
        keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeper.bind(("127.0.0.1", 0))
        port: int = keeper.getsockname()[1]
        yield port


def eventually(condition: Callable[[], object], what: str, seconds: float = 60.0) -> None:
    """Waits for what happens in another process. Raises ``AssertionError`` that names it."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"after {seconds:.0f} s still not: {what}"
        time.sleep(0.05)


def stacks(running: Running) -> str:
    """Ends the service with SIGABRT; returns the end of its log, where the stacks of its threads are then."""
    running.process.send_signal(signal.SIGABRT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        running.process.wait(10)
    return running.log.read_text(errors="replace")[-12_000:]


@contextlib.contextmanager
def service(
    data_dir: Path,
    *arguments: str,
    environment: Mapping[str, str] | None = None,
    before: Sequence[str] = (),
    checkout: Path = ROOT,
) -> Iterator[Running]:
    """``start``, and killed at the end. A call without an answer carries what each thread of the service did meanwhile."""
    running = start(data_dir, *arguments, environment=environment, before=before, checkout=checkout)
    try:
        yield running
    except TimeoutError as error:
        error.add_note(stacks(running))
        raise
    finally:
        running.wire.close()
        if running.process.poll() is None:
            running.kill()
