"""Restrictions of processes: a worker less than the server, and not for longer than the server lives; a copy of the
server nothing.

Linux does what needs doing here; where a call is missing the worker goes without.
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import logging
import os
import resource
import signal
import socket
import sys
from collections.abc import Iterator
from functools import cache
from typing import Final

OUT_OF_MEMORY_SCORE: Final = "500"
"""When memory runs out, the kernel takes a worker and not the server."""

COPY_STATUS: Final = 70

_SET_DEATH_SIGNAL: Final = 1
_SET_DUMPABLE: Final = 4
_MEBIBYTE: Final = 1 << 20

_open = 0

log = logging.getLogger("identity")


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
    """Lower the priority of this process. A start keeps the normal priority, because callers wait for it."""
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


@contextlib.contextmanager
def copies_end_at_once() -> Iterator[None]:
    """While this is entered, a fork of this process gives a process that ends with ``COPY_STATUS``, before any code runs in it.

    A plugin that forks inside the server makes a second process with the same connections, the same database files and the same event
    loop, which would answer requests twice and write to a ledger that it shares unasked. Programs that are started (``subprocess``,
    spawned processes) are no copies, and unharmed.
    """
    global _open
    _register()
    _open += 1
    try:
        yield
    finally:
        _open -= 1


@cache
def _register() -> None:
    os.register_at_fork(before=_say, after_in_child=_end)


def _say() -> None:
    if _open:
        log.error("a plugin forks the server process; the copy ends at once (start a program, or use threads)")


def _end() -> None:
    if _open:
        os._exit(COPY_STATUS)
