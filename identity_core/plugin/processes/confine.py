"""Restrictions of processes: of a worker, which must not outlive the server, and of a fork of the server.

They use Linux calls; if a call is missing, the worker runs without that restriction.
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
"""When memory runs out, the kernel kills a worker and not the server."""

COPY_STATUS: Final = 70

_SET_DEATH_SIGNAL: Final = 1
_SET_DUMPABLE: Final = 4
_MEBIBYTE: Final = 1 << 20

_open = 0

log = logging.getLogger("identity")


def leave_no_core() -> None:
    """Disable core files of this process, and access to it for other processes of the same account: a worker must not
    read in ``/proc`` what it was not given."""
    _bound(resource.RLIMIT_CORE, 0)
    _control(_SET_DUMPABLE, 0)


def confine(parent: int, memory_mebibytes: int) -> None:
    """Limit the memory of a worker, disable its core files, which could contain a credential, and end it with the
    server.

    Signals that end the server are ignored, because a service manager sends them to all its processes. So a proof in
    progress is finished, and the server closes the channel when it has no more calls.
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
    """Make the kernel kill this process when the thread that started it ends."""
    _control(_SET_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() != parent:
        # The parent ended before the kernel had the request.
        os._exit(1)


def _control(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def keep_from(channel: socket.socket) -> None:
    """Close the channel in every process that the plugin forks. Such a process cannot answer instead of the worker,
    and ends with its parent."""
    forking = os.getpid()

    def about_to() -> None:
        nonlocal forking
        forking = os.getpid()

    def apart() -> None:
        channel.close()
        _die_with(forking)

    os.register_at_fork(before=about_to, after_in_child=apart)


def be_silent() -> None:
    """Discard everything that the plugin prints from now on, because it may be a credential. The place of a crash is
    still printed: names of functions and files contain no values."""
    with contextlib.suppress(OSError, ValueError):
        faulthandler.enable(os.dup(2))
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    os.close(nowhere)


@contextlib.contextmanager
def copies_end_at_once() -> Iterator[None]:
    """Make every fork of this process end with ``COPY_STATUS`` before any code runs in it, while the context is
    entered.

    A plugin that forks inside the server makes a second process with the same connections, database files and event
    loop. The copy would answer requests twice and write to the shared ledger. Started programs (``subprocess``,
    spawned processes) are not copies and are not affected.
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
