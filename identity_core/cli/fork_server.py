"""The process that the workers of a server are forked from. It has imported what they run, so that none of them does, and has opened
nothing: no file, no thread, no connection of an installation is there twice.

It does not know what the environment says of secrets either: a prover, which runs as the same user, could read that in ``/proc``. Workers
are told once they let no one look.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
from collections.abc import Iterator
from multiprocessing import forkserver
from pathlib import Path

from identity_core.settings.sources import handed_on

METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"
# Prometheus reads the name of its folder when it is imported.
NEEDED = (METRICS_FOLDER, "PYTHONPATH", "PYTHONHASHSEED", "PYTHONWARNINGS")
MODULES = ["identity_core.cli.serving", "identity_core.bootstrap.app"]


def metrics_folder(data_dir: Path) -> Path:
    """Where workers add up their metrics, unless the operator has named another place."""
    return data_dir / "metrics"


def ensure(data_dir: Path) -> None:
    """Starts it where it does not run, and does not wait: it imports while this process does other things."""
    # What it forks, and the tracker of resources, have it from here.
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    multiprocessing.set_forkserver_preload(MODULES)
    with _environment(
        handed_on(NEEDED) | {METRICS_FOLDER: os.environ.get(METRICS_FOLDER, str(metrics_folder(data_dir)))}
    ):
        forkserver.ensure_running()


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
