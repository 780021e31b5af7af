"""The workers of a server, which share its socket, and their parent.

The parent opens the installation briefly, so that any error is reported before a worker starts, and each worker opens its
own. SIGHUP also replaces the workers one by one.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import multiprocessing
import os
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn import _subprocess
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from identity_core import bootstrap
from identity_core.cli.log_lines import logging_config
from identity_core.cli.serving import Announce, prepare, server_config, with_new_log, within_files
from identity_core.plugin.isolation import leave_no_core
from identity_core.settings import Settings
from identity_server_processes import fork_server

# The time for which a worker may close its plugins after its requests; then it is killed.
CLOSING_SECONDS = 10.0

# The folder where workers combine their metrics; the library reads it at import.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

log = logging.getLogger("identity")


def serve(settings: Settings, listening: Sequence[socket.socket], announce: Announce) -> int:
    """Serve with ``server.workers`` processes until a signal comes. Return the exit code. Raises as ``serving.serve``."""
    settings = prepare(settings, listening)
    announce(asyncio.run(_checked(settings)))
    _share_metrics(settings.data_dir)
    # Uvicorn has no setting for the start method of its workers.
    _subprocess.spawn = multiprocessing.get_context("forkserver")  # type: ignore[assignment]
    config = server_config(_worker(settings), settings, lifespan="on", factory=True)
    return Workers(config, [*listening], settings).serve()


async def _checked(settings: Settings) -> str | None:
    async with bootstrap.open_installation(settings) as installation:
        return await installation.first_key()


def _worker(settings: Settings) -> Callable[[], bootstrap.Asgi]:
    return partial(worker_application, settings, dict(os.environ))


def worker_application(settings: Settings, environment: Mapping[str, str]) -> bootstrap.Asgi:
    """Return the application of a worker. The worker ends when its parent has ended for any reason, because no other
    process would stop it."""
    leave_no_core()
    os.environ.update(environment)
    within_files(settings)
    # The objects from the fork stay; a collection would touch and so copy their memory.
    gc.freeze()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_after, args=(parent,), daemon=True).start()
    return bootstrap.Application(settings)


def _leave_after(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


class Workers(Multiprocess):
    """Uvicorn's parent process with a time limit: a worker that does not stop in time is killed."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], settings: Settings) -> None:
        super().__init__(config, sockets)
        self._settings = settings
        self._stop_seconds = settings.server.shutdown_seconds + CLOSING_SECONDS

    def serve(self) -> int:
        """Run until a signal comes or a worker cannot start. Return the exit code."""
        self.run()
        failed = any(worker.exitcode == STARTUP_FAILURE for worker in self.processes)
        log.info("stopped")
        return STARTUP_FAILURE if failed else 0

    def handle_hup(self) -> None:
        """Replace the workers one by one, with the current settings of the log."""
        self._settings = with_new_log(self._settings)
        self.config.app = _worker(self._settings)
        self.config.log_config = logging_config(self._settings.log)
        super().handle_hup()

    def keep_subprocess_alive(self) -> None:
        """Replace workers that died or hang. This process's copy of a worker's end of the pipe is closed first:
        otherwise a worker that died before it answered looks like a slow one."""
        for worker in self.processes:
            worker.child_conn.close()
        if not self.should_exit.is_set():
            fork_server.ensure()
        super().keep_subprocess_alive()

    def terminate_all(self) -> None:
        """Send the workers the signal to stop. Close this process's own copy of the socket first, so that no new
        connection waits in it without a reader."""
        for listening in self.sockets:
            listening.close()
        super().terminate_all()

    def join_all(self) -> None:
        """Wait for the workers until the time limit, and kill the others."""
        until = time.monotonic() + self._stop_seconds
        for worker in self.processes:
            worker.process.join(max(until - time.monotonic(), 0.0))
            if worker.process.is_alive():
                log.error("worker %s did not stop in time and is killed", worker.pid)
                worker.process.kill()
                worker.process.join()


def _share_metrics(data_dir: Path) -> None:
    """Create a new folder in which the workers combine their metrics, unless the operator has named one. Values of an
    earlier run must not count again."""
    if METRICS_FOLDER not in os.environ:
        folder = data_dir / "metrics"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        os.environ[METRICS_FOLDER] = str(folder)
