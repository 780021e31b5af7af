"""The running server of an installation: one process, or a parent with workers that share its socket.

One process opens the installation once and serves it. With several workers, the parent opens it briefly, so that any
error is reported before a worker starts, and each worker opens its own. Signals: after SIGTERM and Ctrl-C the
requests in progress finish, for at most ``server.shutdown_seconds``. SIGHUP reads the settings again and applies
those of the log; with workers it also replaces them one by one.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import logging.config
import multiprocessing
import os
import resource
import shutil
import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from uvicorn import _subprocess
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from identity_core import bootstrap
from identity_core.cli import fork_server
from identity_core.cli.connections import BoundedProtocol, Connections
from identity_core.cli.log_lines import logging_config
from identity_core.plugin.processes.confine import leave_no_core
from identity_core.settings import Settings, SettingsError, load

# Called when the installation is open, with the text of a first API key, or None.
Announce = Callable[[str | None], None]

BACKLOG = 2048
# The kernel's buffers of one connection; the defaults are some megabytes each. The first also limits the bytes that
# one call reads.
RECEIVED_OCTETS = 64 * 1024
SENT_OCTETS = 128 * 1024
# Files that a process opens for purposes other than a connection: databases, pipes to provers, plugins.
OWN_FILES = 256
# The time for which a worker may close its plugins after its requests; then it is killed.
CLOSING_SECONDS = 10.0
# The time without an answer, including the start, after which the parent kills a worker. Uvicorn's five seconds are
# shorter than a start on a busy machine, which then never gets its workers.
SILENT_SECONDS = 30

# The folder where workers combine their metrics; the library reads it at import.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

log = logging.getLogger("identity")


def serve(settings: Settings, listening: Sequence[socket.socket], announce: Announce) -> int:
    """Serve on all of ``listening`` until a signal comes. Return the exit code. Raises ``StartError``, and the other
    errors of opening."""
    settings = _within_files(settings)
    for one in listening:
        # Accepted sockets inherit these.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_OCTETS)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_OCTETS)
        # From here on connections wait in the backlog instead of being refused.
        one.listen(BACKLOG)
    if settings.server.workers > 1:
        return _serve_with_workers(settings, listening, announce)
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        runner.run(_serve_here(settings, listening, announce))
    return 0


def _within_files(settings: Settings) -> Settings:
    """Raise the limit of open files to one per connection, for this process and its workers. If the system allows
    fewer, return settings with fewer connections, so that none fails for lack of a file."""
    wanted = settings.server.max_connections + OWN_FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return settings
    given = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    resource.setrlimit(resource.RLIMIT_NOFILE, (given, hard))
    if given == wanted:
        return settings
    fewer = max(1, given - OWN_FILES)
    log.warning("server.max_connections is %d here: this user may open %d files (ulimit -n)", fewer, given)
    return replace(settings, server=replace(settings.server, max_connections=fewer))


async def _serve_here(settings: Settings, listening: Sequence[socket.socket], announce: Announce) -> None:
    async with bootstrap.open_installation(settings) as installation:
        # The installation is open already, so the server has no lifespan to run.
        server = uvicorn.Server(_server_config(installation.app, settings, lifespan="off"))
        announce(await installation.first_key())
        bootstrap.collect_seldom()
        with _signals_handled_once(), _log_read_again(settings):
            await server.serve(sockets=[*listening])
    log.info("stopped")


def _serve_with_workers(settings: Settings, listening: Sequence[socket.socket], announce: Announce) -> int:
    announce(asyncio.run(_checked(settings)))
    _share_metrics(settings.data_dir)
    # Uvicorn has no setting for the start method of its workers.
    _subprocess.spawn = multiprocessing.get_context("forkserver")  # type: ignore[assignment]
    config = _server_config(_worker(settings), settings, lifespan="on", factory=True)
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
    _within_files(settings)
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


def _server_config(app: Any, settings: Settings, *, lifespan: Any, factory: bool = False) -> uvicorn.Config:
    connections = Connections(settings.server, logged=settings.log.requests)
    protocol: Any = partial(BoundedProtocol, connections=connections)
    return uvicorn.Config(
        app,
        factory=factory,
        workers=settings.server.workers,
        lifespan=lifespan,
        loop="auto",
        http=protocol,
        ws="none",
        log_config=logging_config(settings.log),
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=int(settings.server.shutdown_seconds),
        timeout_worker_healthcheck=SILENT_SECONDS,
        backlog=BACKLOG,
    )


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return uvloop's factory if it is installed, else None."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


@contextlib.contextmanager
def _signals_handled_once() -> Iterator[None]:
    """Ignore the signal that Uvicorn raises again after it has stopped: the installation must still be closed then."""
    before = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            # SIGTERM stays ignored, so that a second one does not interrupt the closing.
            if one != signal.SIGTERM:
                signal.signal(one, handler)


@contextlib.contextmanager
def _log_read_again(settings: Settings) -> Iterator[None]:
    """Read the log settings again on SIGHUP, which would end the process otherwise."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, with_new_log, settings)
    try:
        yield
    finally:
        # A signal while the process closes must not interrupt it.
        loop.add_signal_handler(signal.SIGHUP, lambda: None)


def with_new_log(settings: Settings) -> Settings:
    """Return ``settings`` with the current log settings, which are applied at once. If they are invalid, log that and
    change nothing."""
    try:
        new = load(file=settings.file).log
    except SettingsError as error:
        log.error("the settings are not read again: %s %s", error.what, error.where)
        return settings
    logging.config.dictConfig(logging_config(new))
    log.info("the settings of the log were read again: %s, %s", new.level, new.format)
    return replace(settings, log=new)


def _share_metrics(data_dir: Path) -> None:
    """Create a new folder in which the workers combine their metrics, unless the operator has named one. Values of an
    earlier run must not count again."""
    if METRICS_FOLDER not in os.environ:
        folder = data_dir / "metrics"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        os.environ[METRICS_FOLDER] = str(folder)
