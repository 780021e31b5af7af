"""The factory of ``tests/servers.py``: a process that has imported the service, and forks when one is asked for.

Run by path, with the number of a socket. Its children have no other parent, so it waits for them on request.
"""

from __future__ import annotations

import atexit
import contextlib
import faulthandler
import functools
import gc
import importlib
import importlib.metadata
import inspect
import itertools
import json
import os
import pkgutil
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping, Sequence
from multiprocessing import spawn, util
from pathlib import Path
from typing import Any

from uvicorn.supervisors.multiprocess import SIGNALS

ROOT = Path(__file__).resolve().parents[1]
ORDER_OCTETS = 128 * 1024


def _work(channel: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Take orders. Returns its task in a child, and None in the factory when the client of the channel has closed it."""
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, ORDER_OCTETS, 3)
        if not message:
            return None
        order = json.loads(message)
        if "ended" in order:
            answer = os.waitstatus_to_exitcode(os.waitpid(order["ended"], 0)[1])
        else:
            ready, began = os.pipe()
            answer = os.fork()
            if answer == 0:
                os.close(ready)
                if order["session"]:
                    os.setsid()
                os.close(began)
                return order, descriptors
            # Who asked may signal the session at once, so it is there before the answer.
            os.close(began)
            os.read(ready, 1)
            os.close(ready)
            for one in descriptors:
                os.close(one)
        channel.send(str(answer).encode())


def _become(order: Mapping[str, Any], descriptors: Sequence[int], paths: Sequence[str]) -> None:
    """What ``python -m identity_core`` finds when it begins."""
    for number, one in enumerate(descriptors):
        os.dup2(one, number)
        os.close(one)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    named = order["environment"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = [order["folder"], *filter(None, named), *paths]
    sys.argv = ["identity", *order["arguments"]]
    # What workers of the server import first.
    sys.modules["__main__"] = sys.modules["identity_core.__main__"]
    if "--workers" in order["arguments"]:
        # prometheus-client reads the folder that the workers share when it is imported.
        for name in [name for name in sys.modules if name.startswith(("prometheus_client", "identity_observability"))]:
            del sys.modules[name]
    if "serve" in order["arguments"]:
        _fork_workers()
        if _forks_a_prover():
            _fork_a_prover()


def _fork_workers() -> None:
    """The process that workers are forked from is a copy of this one, in which all is there that it would import."""
    start = util.spawnv_passfds

    def spawnv_passfds(path: bytes, arguments: Sequence[str], descriptors: Sequence[int]) -> int:
        # The other kind is the tracker of resources, which needs nothing of ours.
        if "multiprocessing.forkserver" not in arguments[-1]:
            return int(start(path, arguments, descriptors))
        process = os.fork()
        if process == 0:
            _be_fork_server(arguments[-1], descriptors)
        return process

    util.spawnv_passfds = spawnv_passfds
    if _forks_a_prover():
        begin = spawn._main  # type: ignore[attr-defined]

        def begin_worker(*how: Any) -> Any:
            _fork_a_prover()
            return begin(*how)

        spawn._main = begin_worker  # type: ignore[attr-defined]


def _be_fork_server(program: str, descriptors: Sequence[int]) -> None:
    """Like a new process: only these are open, signals do what they do."""
    status = 1
    try:
        _close_all_but(descriptors)
        for number in SIGNALS:
            signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        exec(program, {})
    except SystemExit as end:
        status = int(end.code or 0)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)


def _close_all_but(descriptors: Sequence[int]) -> None:
    kept = sorted({0, 1, 2, *descriptors})
    for last, following in itertools.pairwise([*kept, os.sysconf("SC_OPEN_MAX")]):
        os.closerange(last + 1, following)


class _ForkedProver:
    """What a server uses of ``subprocess.Popen``."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def wait(self) -> int:
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def _forks_a_prover() -> bool:
    """Not where plugins of a test may bring another, or none."""
    return "IDENTITY_PLUGINS_MODULES" not in os.environ


def _fork_a_prover() -> None:
    """The first prover of this process is forked now, while there is neither a thread nor anything of the server's to be seen, and waits
    for its order; it ends with us. Those after it are started."""
    channel, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        _be_a_prover(theirs)
    theirs.close()
    worker = importlib.import_module("identity_isolation.worker")
    start = inspect.unwrap(worker._started)

    @functools.wraps(start)
    def started(order: Any, descriptor: int) -> Any:
        if order.provider != FORKED_PROVER or channel.fileno() < 0:
            return start(order, descriptor)
        os.setpgid(pid, pid)
        told = {"environment": worker.select_variables(order.environment), "path": sys.path}
        with channel:
            socket.send_fds(channel, [json.dumps(told).encode()], [descriptor])
        return _ForkedProver(pid)

    def dismiss() -> None:
        if channel.fileno() >= 0:
            channel.close()
            os.waitpid(pid, 0)

    worker._started = started


def _be_a_prover(channel: socket.socket) -> None:
    try:
        _close_all_but([channel.fileno()])
        message, descriptors, _, _ = socket.recv_fds(channel, ORDER_OCTETS, 1)
        channel.close()
        if message:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, 0)
            os.dup2(nothing, 1)
            os.close(nothing)
            told = json.loads(message)
            os.environ.clear()
            os.environ.update(told["environment"])
            sys.path[:] = told["path"]
            importlib.import_module("identity_isolation.child").main(*descriptors)
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(1)


FORKED_PROVER = "bbs"
# Not all of them are installed everywhere.
PRELOADED = (
    *("alembic.command", "psycopg", "uvicorn.lifespan.off", "uvicorn.loops.uvloop"),
    *("identity_observability.handlers", "identity_observability.kernel_gauges", "identity_observability.process"),
    *("identity_server_processes.fallback", "identity_server_processes.sqlite", "identity_server_processes.stores"),
)
PACKAGES = (
    "identity_bbs",
    "identity_core.cli",
    "identity_codec",
    "identity_client",
    "identity_core.database",
    "identity_isolation",
    "identity_operations.kernel_tables",
)


def _import_the_service() -> None:
    importlib.import_module("tests.entry_points")
    importlib.import_module("tests.new_stores").make_store()
    importlib.import_module("identity_core.__main__")
    importlib.import_module("identity_core.bootstrap.app")
    for name in PACKAGES:
        folder = importlib.import_module(name).__path__
        for module in pkgutil.walk_packages(folder, f"{name}."):
            # A backend of the curve wants a library that need not be installed.
            is_optional = module.name.startswith("identity_bbs.bls12381.")
            with contextlib.suppress(*[ImportError] if is_optional else ()):
                importlib.import_module(module.name)
    for name in PRELOADED:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for plugin in importlib.metadata.entry_points(group="identity.plugins"):
        plugin.load()
    _prepare_the_start()
    # A server waits for its prover when it starts. At its low priority that is long where other tests have the processors.
    importlib.import_module("identity_isolation.provers").NICE = 0


def _prepare_the_start() -> None:
    """Does what is the same at each start: each child has a copy of its own of what comes of it."""
    conformity = importlib.import_module("identity_core.plugin.conformity")
    for socket_of in importlib.import_module("identity_core.plugin.sockets").SOCKETS:
        for protocol in socket_of.protocols:
            conformity.members(protocol)
    importlib.import_module("identity_core.plugin.load").installed_sources()
    # A quarter of a start is the validation of the document. Starts of real processes and tests/contract validate it.
    importlib.import_module("connexion.spec").OpenAPISpecification._validate_spec = lambda *_: None


def _end(run: Callable[[], object]) -> None:
    """Ends this process as Python does when ``run`` has exited, but for taking all apart that was imported: the pages of it would be
    copied first, which costs more than most commands."""
    status = 0
    try:
        run()
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        status = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if not stream.closed:
                stream.flush()
        except OSError:
            status = 120  # as Python says that what was printed did not arrive
    os._exit(status)


def main() -> None:
    """The factory, and then what it forks."""
    paths = [*sys.path]
    sys.path.insert(0, str(ROOT))
    _import_the_service()
    # Collected and left alone: a child would write into what it shares.
    gc.collect()
    gc.freeze()
    channel = socket.socket(fileno=int(sys.argv[1]))
    ordered = _work(channel)
    channel.close()
    if ordered is not None:
        _become(*ordered, paths)
        # SIGABRT writes what each thread does to standard error.
        faulthandler.enable(2)
        _end(lambda: sys.modules["identity_core.cli"].main(prog_name="identity"))


if __name__ == "__main__":
    main()
