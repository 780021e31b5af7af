"""The service of a soak, what is around it, and what goes wrong with it."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path

from tests.attack.stranger import PREFIX
from tests.fault import service_process
from tests.fault.service_process import Running, eventually, kept_port
from tests.fault.turned_service import tell
from tests.witnesses import witness

BAD_SECONDS = 5.0
RECOVERY_SECONDS = 60.0
ORIGIN = "id.example/api/v1/ledger"


class Machine:
    """A service on SQLite whose disk, clock and witness are in our hands. ``running`` is its present process, always on one port."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder = folder
        self.disk = folder / "disk"
        self.disk.mkdir()
        self._has_disk = self._mount(stack)
        self.data_dir = self.disk / "data"
        self._clock = folder / "clock"
        tell(self._clock, "0")
        self._port = stack.enter_context(kept_port())
        self._policy = folder / "policy.txt"
        self._witness = stack.enter_context(ExitStack())
        self.running = self._started()
        stack.callback(self.end)
        # The log has a key before it has a witness, who must be told it.
        self._log_key = str(self.running.wire.call("GET", f"{PREFIX}/ledger/key").json["verifierKey"])
        self._begin_witness()
        self._restart()

    def _mount(self, stack: ExitStack) -> bool:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=4g", "tmpfs", self.disk], capture_output=True, check=False
        )
        if done.returncode == 0:
            stack.callback(lambda: subprocess.run(["umount", "--lazy", self.disk], check=True))
        return done.returncode == 0

    def _started(self) -> Running:
        environment = {
            "IDENTITY_PLUGINS_MODULES": "tests.fault.turned_clock",
            "IDENTITY_TEST_CLOCK": str(self._clock),
            "IDENTITY_LEDGER_ORIGIN": ORIGIN,
            "IDENTITY_SERVER_PUBLIC_METRICS": "true",
            "IDENTITY_LEDGER_CHECKPOINT_PATH": str(self.folder / "data.checkpoint"),
        }
        if self._policy.exists():
            environment["IDENTITY_LEDGER_WITNESSES"] = str(self._policy)
        return service_process.start(self.data_dir, "--port", f"{self._port}", environment=environment)

    def _begin_witness(self, *more: str) -> None:
        told = self._witness.enter_context(
            witness(self.folder / "witness", self._log_key, name="w1.example", more=more)
        )
        lines = [
            f"log {self._log_key}",
            f"witness W1 {told['verifierKey']} {told['url']}",
            "group G 1 W1",
            "quorum G",
            "",
        ]
        self._policy.write_text("\n".join(lines))
        self._witness_port = told["url"].rpartition(":")[2]

    def faults(self) -> Mapping[str, Callable[[], None]]:
        """What goes wrong, each until it is over; the service may take a while after that."""
        known = {
            "killed": self._kill,
            "frozen": self._freeze,
            "disk full": self._fill,
            "restarted": self._restart,
            "clock step": self._step,
            "witness down": self._lose_witness,
        }
        return {name: fault for name, fault in known.items() if name != "disk full" or self._has_disk}

    def _kill(self) -> None:
        self.running.kill()
        self.running = self._started()

    def _freeze(self) -> None:
        os.killpg(self.running.process.pid, signal.SIGSTOP)
        time.sleep(BAD_SECONDS)
        os.killpg(self.running.process.pid, signal.SIGCONT)

    def _fill(self) -> None:
        about = os.statvfs(self.disk)
        used = (about.f_blocks - about.f_bfree) * about.f_frsize // 1024
        subprocess.run(["mount", "-o", f"remount,size={used + 64}k", self.disk], check=True)
        time.sleep(BAD_SECONDS)
        subprocess.run(["mount", "-o", "remount,size=4g", self.disk], check=True)

    def _restart(self) -> None:
        self.running.process.terminate()
        self.running.process.wait(60)
        self.running = self._started()

    def _step(self) -> None:
        # Further ahead nothing is recorded.
        for offset in ("45", "0"):
            tell(self._clock, offset)
            time.sleep(BAD_SECONDS)

    def _lose_witness(self) -> None:
        self._witness.close()
        time.sleep(BAD_SECONDS)
        self._begin_witness("--port", self._witness_port)

    def recovered(self) -> None:
        """Returns when the service is ready and takes a write. Raises ``AssertionError``."""
        eventually(self._writes, "the service takes writes", RECOVERY_SECONDS)

    def _writes(self) -> bool:
        with contextlib.suppress(OSError):
            ready = self.running.wire.call("GET", "/ready", fresh=True).status == 200
            return ready and self.running.stranger.create({"method": "ids"}).status == 201
        return False

    def end(self) -> None:
        """Ends the service, if it runs."""
        if self.running.process.poll() is None:
            self.running.process.terminate()
            self.running.process.wait(60)


@contextlib.contextmanager
def machine(folder: Path) -> Iterator[Machine]:
    """One that works."""
    with ExitStack() as stack:
        yield Machine(folder, stack)
