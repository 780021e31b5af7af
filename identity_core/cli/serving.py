"""The running server of an installation: one process, which opens it once and serves it. An extension serves with
several.

Signals: after SIGTERM and Ctrl-C the requests in progress finish, for at most ``server.shutdown_seconds``. SIGHUP
reads the settings again and applies those of the log.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import logging.config
import resource
import signal
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import uvicorn
from uvicorn.loops.auto import auto_loop_factory

from identity_codec.values import replace
from identity_core import bootstrap
from identity_core.cli.connections import BoundedProtocol, Connections
from identity_core.cli.log_lines import logging_config
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
# The time without an answer, including the start, after which the parent kills a worker. Uvicorn's five seconds are
# shorter than a start on a busy machine, which then never gets its workers.
SILENT_SECONDS = 30

log = logging.getLogger("identity")


def serve(settings: Settings, listening: Sequence[socket.socket], announce: Announce) -> int:
    """Serve on all of ``listening`` until a signal comes. Return the exit code. Raises ``StartError``, and the other
    errors of opening."""
    settings = prepare(settings, listening)
    with asyncio.Runner(loop_factory=auto_loop_factory()) as runner:
        runner.run(_serve_here(settings, listening, announce))
    return 0


def prepare(settings: Settings, listening: Sequence[socket.socket]) -> Settings:
    """Let connections wait in the backlog, and return the settings within the limits of the system."""
    settings = within_files(settings)
    for one in listening:
        # Accepted sockets inherit these.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_OCTETS)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SENT_OCTETS)
        # From here on connections wait in the backlog instead of being refused.
        one.listen(BACKLOG)
    return settings


def within_files(settings: Settings) -> Settings:
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
        server = uvicorn.Server(server_config(installation.app, settings, lifespan="off"))
        announce(await installation.first_key())
        bootstrap.collect_seldom()
        with _signals_handled_once(), _log_read_again(settings):
            await server.serve(sockets=[*listening])
    log.info("stopped")


def server_config(app: Any, settings: Settings, *, lifespan: Any, factory: bool = False) -> uvicorn.Config:
    """Return the configuration of Uvicorn for ``app``."""
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
