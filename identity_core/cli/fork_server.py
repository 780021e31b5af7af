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
from collections.abc import Iterator
from multiprocessing import forkserver, util

from identity_core.settings.sources import handed_on

NEEDED = ("PYTHONPATH", "PYTHONHASHSEED", "PYTHONWARNINGS")
MODULES = ["identity_core.cli.serving", "identity_core.bootstrap.app"]


def ensure() -> None:
    """Starts it where it does not run, and does not wait: it imports while this process does other things."""
    # Python 3.11.0, of all that are supported, would take an abstract socket, where any user may ask for a process (CVE-2022-42919).
    util.abstract_sockets_supported = False  # type: ignore[misc]
    # What it forks, and the tracker of resources, have it from here.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    multiprocessing.set_forkserver_preload(MODULES)
    with _environment(handed_on(NEEDED)):
        forkserver.ensure_running()


@atexit.register
def _remove_folder() -> None:
    """In the process that workers are forked from: who has started it does so, too, but not when it is killed."""
    known = vars(forkserver._forkserver)
    if known["_forkserver_pid"] is None and known["_forkserver_address"]:
        shutil.rmtree(os.path.dirname(known["_forkserver_address"]), ignore_errors=True)


@contextlib.contextmanager
def _environment(known: dict[str, str]) -> Iterator[None]:
    """With these variables alone."""
    before = dict(os.environ)
    os.environ.clear()
    os.environ.update(known)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
