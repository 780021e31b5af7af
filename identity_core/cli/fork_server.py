"""The process that the workers of a server are forked from. It has imported what they run, so that none of them does, and has opened
nothing: no file, no thread, no connection of an installation is there twice.

It does not know what the environment says of secrets either: a prover, which runs as the same user, could read that in ``/proc``. Workers
are told once they let no one look.

It is asked at a Unix socket, in a folder of its own that only this user may enter. The folder goes with the server; where that is
killed, with this process, which ends when neither the server nor a worker is left. Where all are killed at once a socket at which
nobody listens stays in the temporary folder of the system, for whoever tidies that up.
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
