"""One worker process, as the server sees it.

It is born ``starting``, becomes ``idle`` when it has built its prover, is ``busy`` with one call at a time, and ends once, whatever
ended it. What it sends is trusted for nothing but its length and letter.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Final, Literal, Protocol

from identity_core.plugin.processes import frames
from identity_core.plugin.processes.frames import FrameReader, FrameRefused, frame
from identity_core.plugin.processes.order import Order
from identity_core.settings.sources import handed_on

_PIECE: Final = 1 << 16
_CLOSED_SECONDS: Final = 1.0
"""How long a process may live that has closed its channel; mostly it is ending, and soon tells how."""

State = Literal["starting", "idle", "busy", "ending", "ended"]


class Keeper(Protocol):
    """Who keeps workers: told of what they send and of their end, on the event loop."""

    def heard(self, worker: WorkerProcess, kind: bytes, body: bytes) -> None:
        """A whole frame came up."""
        ...

    def ended(self, worker: WorkerProcess) -> None:
        """The process is gone. ``worker.verdict`` says how."""
        ...


class WorkerProcess:
    """Belongs to the event loop in which it was started."""

    def __init__(self, order: Order, keeper: Keeper) -> None:
        """Starts the process; does not wait for it. Raises ``OSError`` when there can be none."""
        self.state: State = "starting"
        self.verdict = ""
        self.gone = False
        self._keeper = keeper
        self._loop = asyncio.get_running_loop()
        self._reader = FrameReader(frames.MAX_ANSWER_OCTETS)
        self._unsent = bytearray()
        self._timer: asyncio.TimerHandle | None = None
        self._channel, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _started(order, theirs.fileno())
            except OSError:
                self._channel.close()
                raise
        self._channel.setblocking(False)
        self._loop.add_reader(self._channel.fileno(), self._readable)
        threading.Thread(target=self._wait, name=f"worker-{self.pid}", daemon=True).start()
        self._send(frame(frames.ORDER, pickle.dumps(order)))

    @property
    def pid(self) -> int:
        """The process, and the group that it leads."""
        return self._process.pid

    def ask(self, call: bytes) -> None:
        """Sends the call, framed. The worker must be idle."""
        self.state = "busy"
        self._send(call)

    def allow(self, seconds: float, late: Callable[[WorkerProcess], None]) -> None:
        """Sets the time after which ``late`` is called, unless ``rest`` is called before."""
        self._timer = self._loop.call_later(seconds, late, self)

    def rest(self) -> None:
        """It has done what it was at."""
        self.state = "idle"
        self._forget_timer()

    def leave(self) -> None:
        """Asks an idle worker to end."""
        self.verdict = self.verdict or "was told to leave"
        self.state = "ending"
        self._forget_timer()
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def kill(self, verdict: str) -> None:
        """Ends the process and all that it forked. Its end is still to be heard of."""
        self.verdict = self.verdict or verdict
        if self.state != "ended":
            self.state = "ending"
            self._forget_timer()
            self._kill_group()

    def _kill_group(self) -> None:
        # Nobody has reaped the process, so its number is still its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _forget_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _send(self, octets: bytes) -> None:
        sent = 0 if self._unsent else self._sent(octets)
        if sent < len(octets):
            self._unsent += octets[sent:]
            self._loop.add_writer(self._channel.fileno(), self._writable)

    def _writable(self) -> None:
        del self._unsent[: self._sent(self._unsent)]
        if not self._unsent:
            self._loop.remove_writer(self._channel.fileno())

    def _sent(self, octets: bytes | bytearray) -> int:
        try:
            return self._channel.send(octets)
        except BlockingIOError:
            return 0
        except OSError:
            # It has closed the channel, so it is ending; what remains has no reader.
            return len(octets)

    def _readable(self) -> None:
        if self._read() == 0:
            self._loop.remove_reader(self._channel.fileno())
            if self.state != "ending":
                self._loop.call_later(_CLOSED_SECONDS, self.kill, "closed its channel")

    def _read(self) -> int | None:
        """How many octets came; 0 at the end, None when there are none now."""
        try:
            octets = self._channel.recv(_PIECE)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        try:
            for kind, body in self._reader.feed(octets):
                if self.state != "ending":
                    self._keeper.heard(self, kind, body)
        except FrameRefused as refused:
            self.kill(f"{refused}, more than is taken")
            return 0
        return len(octets)

    def _wait(self) -> None:
        # Seen here and reaped on the loop, so that no signal can go to another process of the same number.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):
            # A closed loop has nobody who would care.
            self._loop.call_soon_threadsafe(self._ended)

    def _ended(self) -> None:
        self.gone = True
        self._kill_group()
        while self._read():
            # Its last words count: an answer, or why it could not be had.
            continue
        status = self._process.wait()
        self.verdict = self.verdict or _described(status)
        self.state = "ended"
        self._forget_timer()
        self._loop.remove_reader(self._channel.fileno())
        self._loop.remove_writer(self._channel.fileno())
        self._channel.close()
        self._keeper.ended(self)


def _started(order: Order, descriptor: int) -> subprocess.Popen[bytes]:
    # The same path as here, so that it finds the same plugin; the last words are for whoever reads a list of processes.
    program = f"import sys; sys.path[:] = {sys.path!r}; from identity_core.plugin.processes.child import main; main({descriptor})"
    return subprocess.Popen(
        [sys.executable, "-c", program, "identity-prover", order.provider],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=handed_on(order.environment),
        pass_fds=(descriptor,),
        # A group and not a session: with a session of its own a niceness would count among its members only.
        process_group=0,
    )


def _described(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
