"""The process from which the workers of a server are forked. It has imported the modules of the workers, so that they
need not. It has opened nothing, so no worker inherits a file, a thread or a connection of an installation.

It does not hold the secrets of the environment. A prover runs as the same user and could read them in ``/proc``. A
worker gets them after it has made itself unreadable to other processes.

The server sends requests over a Unix socket in a private folder that only this user may enter. The server removes the
folder at its end. If the server is killed, this process removes it, once neither the server nor a worker is left. If
all are killed at once, an unused socket remains in the temporary folder of the system.
"""

from __future__ import annotations

import atexit
import contextlib
import multiprocessing
import os
import resource
import shutil
from collections.abc import Callable, Iterator
from multiprocessing import forkserver, util

from identity_core.settings.sources import select_variables

NEEDED = ("PYTHONPATH", "PYTHONHASHSEED", "PYTHONWARNINGS")
MODULES = ["identity_server_processes.workers", "identity_core.bootstrap.app"]


def ensure() -> None:
    """Start the process if it does not run, without waiting: it imports while this process continues."""
    # Python 3.11.0 would use an abstract socket, through which any user may request a process (CVE-2022-42919).
    util.abstract_sockets_supported = False  # type: ignore[misc]
    # Its forks, and the resource tracker, inherit this limit.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    multiprocessing.set_forkserver_preload(MODULES)
    with _environment(select_variables(NEEDED)):
        forkserver.ensure_running()


def begin() -> Callable[..., int]:
    """Start the process, and return the function that serves with workers which it forks."""
    ensure()
    from identity_server_processes.workers import serve

    return serve


@atexit.register
def _remove_folder() -> None:
    """Remove the folder, in the process from which workers are forked. The process that started it does so, too,
    unless it is killed."""
    known = vars(forkserver._forkserver)
    if known["_forkserver_pid"] is None and known["_forkserver_address"]:
        shutil.rmtree(os.path.dirname(known["_forkserver_address"]), ignore_errors=True)


@contextlib.contextmanager
def _environment(known: dict[str, str]) -> Iterator[None]:
    """Set the environment to ``known`` only, within the context."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(known)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
