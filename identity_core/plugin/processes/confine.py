"""What a worker may do to the machine: less than the server, and not for longer than the server lives.

Linux does what needs doing here; where a call is missing the worker goes without.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import os
import resource
import signal
import socket
import sys
from typing import Final

OUT_OF_MEMORY_SCORE: Final = "500"
"""When memory runs out, the kernel takes a worker and not the server."""

_SET_DEATH_SIGNAL: Final = 1
_SET_DUMPABLE: Final = 4
_MEBIBYTE: Final = 1 << 20


def leave_no_core() -> None:
    """No core file of this process, and no look into it for others of the same account: a worker must not read in ``/proc`` what it
    was not given."""
    _bound(resource.RLIMIT_CORE, 0)
    _control(_SET_DUMPABLE, 0)


def confine(parent: int, memory_mebibytes: int) -> None:
    """Bounded memory, no core file with a credential in it, no life after the server.

    Signals that end the server are ignored, since a service manager sends them to all its processes: a proof that is under way is
    finished, and the server closes the channel when it has no more to ask.
    """
    for one in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(one, signal.SIG_IGN)
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write(OUT_OF_MEMORY_SCORE)
    _bound(resource.RLIMIT_AS, memory_mebibytes * _MEBIBYTE)
    _die_with(parent)
    leave_no_core()


def stand_back(niceness: int) -> None:
    """Lower priority from here on. A start is in nobody's way, and is waited for."""
    with contextlib.suppress(OSError):
        os.nice(niceness)


def _bound(what: int, most: int) -> None:
    _, hard = resource.getrlimit(what)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(what, (most, most))


def _die_with(parent: int) -> None:
    """The kernel kills this process when the thread that started it ends."""
    _control(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        # It ended before the kernel was told.
        os._exit(1)


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def keep_from(channel: socket.socket) -> None:
    """A process that the plugin forks has no say: it cannot answer in the worker's place, and dies with its parent."""
    forking = os.getpid()

    def about_to() -> None:
        nonlocal forking
        forking = os.getpid()

    def apart() -> None:
        channel.close()
        _die_with(forking)

    os.register_at_fork(before=about_to, after_in_child=apart)


def be_silent() -> None:
    """From here on nothing that the plugin prints is seen, because it may be a credential. Where a crash happened is: the names of
    functions and files hold no values."""
    with contextlib.suppress(OSError, ValueError):
        faulthandler.enable(os.dup(2))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)
