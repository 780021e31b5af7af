"""The server's side of one worker process. A worker gets one message at a time, and ends once, for any reason."""

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
from pathlib import Path
from typing import Final

from msgspec import Struct

from identity_codec.values import Hidden
from identity_core.plugin.load import PluginSource
from identity_core.settings import PluginTables
from identity_core.settings.sources import select_variables
from identity_isolation.messages import FrameReader, Message, Unreadable, frame

_PIECE: Final = 1 << 16
# The time for which a process that has closed its channel may live. Usually it is ending and soon has an exit status.
_CLOSED_SECONDS: Final = 1.0


class Order(Hidden, Struct, frozen=True):
    """Order to a new worker: the prover or format to build, by its hook and its Provider's name, and its limits.

    ``tables``: the prover's own settings as they were written, and no others. ``environment``: the names of the
    variables that it gets in addition to those of every program. ``niceness``: added to the server's. ``parent``: the
    process that it must not outlive.

    The order is sent over the channel only: it is in neither the command line nor the environment.
    """

    source: PluginSource
    hook: str
    provider: str
    tables: PluginTables
    data_dir: Path
    servers: int
    import_seconds: float
    memory_mebibytes: int
    environment: tuple[str, ...]
    niceness: int
    log_level: int
    parent: int


class WorkerProcess:
    """One worker process, which belongs to the event loop in which it was started. ``verdict``: how it ended or must
    end; empty until then.
    ``gone``: whether it has ended."""

    def __init__(self, order: Order) -> None:
        """Start the process without waiting for it. Raises ``OSError``: when it cannot be started."""
        self.verdict = ""
        self._order = order
        self._loop = asyncio.get_running_loop()
        self._ended = asyncio.Event()
        self._sending: asyncio.Task[None] | None = None
        self._channel, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = _started(order, theirs.fileno())
            except OSError:
                self._channel.close()
                raise
        self._channel.setblocking(False)
        threading.Thread(target=self._wait, name=f"worker-{self.pid}", daemon=True).start()

    @property
    def pid(self) -> int:
        """Return the number of the process, and of the group that it leads."""
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        """Return whether the process has ended."""
        return self._ended.is_set()

    def send(self, data: bytes) -> None:
        """Send a message. The previous one must have been answered."""
        try:
            # The buffer is empty, and nearly every call fits, so no task is needed.
            sent = self._channel.send(data)
        except OSError:
            # The buffer is full, or the process is ending: the task handles both.
            sent = 0
        if sent < len(data):
            self._sending = self._loop.create_task(self._send(data[sent:]))

    async def _send(self, data: bytes) -> None:
        # A process that closed its channel is ending, so the rest has no reader.
        with contextlib.suppress(OSError):
            await self._loop.sock_sendall(self._channel, data)

    async def run(self, hear: Callable[[Message], None]) -> None:
        """Send the order, and call ``hear`` with each message until the process has ended. Messages after its verdict
        are not read.

        Raises any error that ``hear`` raises.
        """
        await self._send(frame(pickle.dumps(self._order)))
        closed = self._loop.create_future()
        # No task waits for each message: waking it takes longer than reading.
        self._loop.add_reader(self._channel, self._read, FrameReader(), hear, closed)
        try:
            await closed
        finally:
            self._loop.remove_reader(self._channel)
        timer = self._loop.call_later(_CLOSED_SECONDS, self.kill, "closed its channel")
        await self._ended.wait()
        timer.cancel()
        status = self._process.wait()
        self.verdict = self.verdict or _described(status)
        self._channel.close()

    def _read(self, reader: FrameReader, hear: Callable[[Message], None], closed: asyncio.Future[None]) -> None:
        """Read when data has arrived or the channel is closed."""
        if closed.done():
            return
        try:
            data = self._channel.recv(_PIECE)
            for message in reader.feed(data):
                if not self.verdict:
                    hear(message)
        except BlockingIOError:
            return
        except Unreadable as unreadable:
            self.kill(str(unreadable))
            data = b""
        except OSError:
            data = b""  # It has closed the channel.
        except Exception as error:  # noqa: BLE001  (for who waits)
            closed.set_exception(error)
            return
        if not data:
            closed.set_result(None)

    def leave(self) -> None:
        """Request an idle worker to end."""
        self.verdict = self.verdict or "was told to leave"
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_WR)

    def kill(self, verdict: str) -> None:
        """Kill the process and all its forks; set the verdict if it has none. ``run`` returns afterwards."""
        self.verdict = self.verdict or verdict
        if not self.has_ended:
            self._kill_group()

    def _kill_group(self) -> None:
        # The process has not been reaped, so its number is still its own.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)

    def _wait(self) -> None:
        # Waited for here and reaped on the loop, so that no signal can reach another process of the same number.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOWAIT)
        with contextlib.suppress(RuntimeError):
            # A closed loop has no waiting caller.
            self._loop.call_soon_threadsafe(self._has_ended)

    def _has_ended(self) -> None:
        self._ended.set()
        self._kill_group()
        # Its messages are still read: an answer, or the reason of a failure. Its forks can add nothing.
        with contextlib.suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)


def _started(order: Order, descriptor: int) -> subprocess.Popen[bytes]:
    # The same path as here, so that it finds the same plugin. The last arguments are for readers of a process list.
    program = f"import sys; sys.path[:] = {sys.path!r}; from identity_isolation.child import main; main({descriptor})"
    return subprocess.Popen(
        [sys.executable, "-c", program, "identity-prover", order.provider],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=select_variables(order.environment),
        pass_fds=(descriptor,),
        # A group and not a session: in a separate session its niceness would count among its own members only.
        process_group=0,
    )


def _described(status: int) -> str:
    if status >= 0:
        return f"ended with status {status}"
    try:
        return f"was ended by {signal.Signals(-status).name}"
    except ValueError:
        return f"was ended by signal {-status}"
