"""From an installation to a running server: one process, or a parent with workers that share its socket.

One process opens the installation once and serves it. With several, the parent opens it for a moment, so
that anything wrong is reported before a worker starts, and each worker opens its own. Signals: SIGTERM and Ctrl-C let the
requests in flight finish, for at most ``server.shutdown_seconds``. SIGHUP reads the settings again and obeys what they say of the log;
with workers it replaces them one by one besides.
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

# What is called when the installation is open, with the text of a first API key, or None.
Announce = Callable[[str | None], None]

BACKLOG = 2048
# What the kernel holds of one connection; left alone it gives some megabytes to each. The first also bounds what one call
# reads.
RECEIVED_OCTETS = 64 * 1024
SENT_OCTETS = 128 * 1024
# Files that a process opens for anything but a connection: databases, pipes to provers, plugins.
OWN_FILES = 256
# After its requests a worker closes its plugins; one that hangs in that is killed.
CLOSING_SECONDS = 10.0
# How long a worker may be silent, its start included, before its parent takes it for hung and kills it. Uvicorn's five seconds
# are less than a start takes on a busy machine, which then never gets its workers.
SILENT_SECONDS = 30

# Where workers add up their metrics: they import what reads it.
METRICS_FOLDER = "PROMETHEUS_MULTIPROC_DIR"

log = logging.getLogger("identity")


def serve(settings: Settings, listening: Sequence[socket.socket], announce: Announce) -> int:
    """Serves on all of ``listening`` until a signal comes. Returns the exit code. Raises ``StartError`` and what else opening raises."""
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
    """Lets this process, and the workers that it starts, open a file for each connection; where the system gives fewer, so
    many connections are taken that none is lost for want of a file."""
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
    # Uvicorn has no setting for the way in which its workers start.
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
    # What it was forked with is there to stay, and would be copied were it looked through.
    gc.freeze()
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_leave_after, args=(parent,), daemon=True).start()
    return bootstrap.Application(settings)


def _leave_after(parent: Any) -> None:
    parent.join()
    os.kill(os.getpid(), signal.SIGTERM)


class Workers(Multiprocess):
    """Uvicorn's parent process, which also has an end: a worker that does not stop in time is killed."""

    def __init__(self, config: uvicorn.Config, sockets: list[socket.socket], settings: Settings) -> None:
        super().__init__(config, sockets)
        self._settings = settings
        self._stop_seconds = settings.server.shutdown_seconds + CLOSING_SECONDS

    def serve(self) -> int:
        """Runs until a signal comes or a worker cannot start. Returns the exit code."""
        self.run()
        failed = any(worker.exitcode == STARTUP_FAILURE for worker in self.processes)
        log.info("stopped")
        return STARTUP_FAILURE if failed else 0

    def handle_hup(self) -> None:
        """Replaces the workers one by one, with what the settings say of the log by now."""
        self._settings = with_new_log(self._settings)
        self.config.app = _worker(self._settings)
        self.config.log_config = logging_config(self._settings.log)
        super().handle_hup()

    def keep_subprocess_alive(self) -> None:
        """Replaces who died or hangs. Our copy of a worker's end of the pipe is closed first: else who dies before it has answered
        looks like one who takes his time."""
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
        """Waits for the workers, and then no longer."""
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
    """uvloop where there is one."""
    try:
        import uvloop
    except ImportError:
        return None
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


@contextlib.contextmanager
def _signals_handled_once() -> Iterator[None]:
    """Uvicorn raises a signal once more when it has stopped for it; by then the installation has yet to be closed, and there is
    nothing left to report."""
    before = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            # SIGTERM stays unheard, so that a second one does not break off the closing.
            if one != signal.SIGTERM:
                signal.signal(one, handler)


@contextlib.contextmanager
def _log_read_again(settings: Settings) -> Iterator[None]:
    """SIGHUP, which would end the process, sets the level and the form of the log as the settings say by then."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, with_new_log, settings)
    try:
        yield
    finally:
        # One that comes while the process closes is no reason to break off.
        loop.add_signal_handler(signal.SIGHUP, lambda: None)


def with_new_log(settings: Settings) -> Settings:
    """The settings with what they say of the log by now, which is obeyed at once. Where they are wrong nothing changes."""
    try:
        new = load(file=settings.file).log
    except SettingsError as error:
        log.error("the settings are not read again: %s %s", error.what, error.where)
        return settings
    logging.config.dictConfig(logging_config(new))
    log.info("the settings of the log were read again: %s, %s", new.level, new.format)
    return replace(settings, log=new)


def _share_metrics(data_dir: Path) -> None:
    """A fresh folder through which the workers add up their metrics, unless the operator has named one; the values of an
    earlier run must not count again."""
    if METRICS_FOLDER not in os.environ:
        folder = data_dir / "metrics"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
        os.environ[METRICS_FOLDER] = str(folder)
