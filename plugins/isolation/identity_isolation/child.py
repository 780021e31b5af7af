"""The main loop of a worker: it builds the prover, then answers each call until the server closes the channel.

Each call of the prover has one of three outcomes: a result, an error of the port's contract, or a failure. Of a
failure only the type and the place are reported. The server must detect what a worker cannot report (a hang, a crash,
``os._exit``).
"""

from __future__ import annotations

import contextlib
import ctypes
import faulthandler
import logging
import os
import pickle
import resource
import signal
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from types import SimpleNamespace
from typing import Any, Final

import msgspec
from msgspec import Raw

from identity_core.errors import IdentityError
from identity_core.plugin.border import Bulkhead, summarize_traceback
from identity_core.plugin.build import Built, build, calls_taken
from identity_core.plugin.choose import offers_of
from identity_core.plugin.isolation import leave_no_core
from identity_core.plugin.limits import Limits
from identity_core.plugin.load import collect
from identity_core.plugin.sockets import PROVER, SECURING, BuildContext, NotConfigured, PluginError
from identity_core.ports.prover import BatchVerifier
from identity_core.settings import Plugins, Settings, StartError
from identity_isolation.calls import ProveTogether, ReadTogether, Single, VerifyTogether, decode_call
from identity_isolation.messages import Ended, Failed, Line, Message, Raised, Ready, Returned, Unfit, frame, receive
from identity_isolation.worker import Order

Send = Callable[[Message], None]

# When memory runs out, the kernel kills a worker and not the server.
OUT_OF_MEMORY_SCORE: Final = "500"

_SET_DEATH_SIGNAL: Final = 1
_LONGEST_LINE: Final = 500
# The maximum of log lines that one call, or the build, may send to the server.
_MOST_LINES: Final = 50


class _Lines(logging.Handler):
    """A log handler that sends lines to the server, which writes them with its own."""

    def __init__(self, send: Send) -> None:
        super().__init__()
        self._send = send
        self.left = _MOST_LINES

    def emit(self, record: logging.LogRecord) -> None:
        """Send the message, cut to one short line, without a traceback, whose last line may contain any value."""
        if self.left > 0:
            self.left -= 1
            self._send(Line(record.getMessage()[:_LONGEST_LINE], record.levelname))


def main(descriptor: int) -> None:
    """Run a worker on the channel ``descriptor``."""
    channel = socket.socket(fileno=descriptor)
    order: Order = pickle.loads(receive(channel))  # noqa: S301  (it comes from the process that started this one)
    confine(order.parent, order.memory_mebibytes)
    keep_from(channel)

    def send(message: Message) -> None:
        channel.sendall(frame(msgspec.json.encode(message)))

    lines = _Lines(send)
    logging.basicConfig(handlers=[lines], level=order.log_level)
    with contextlib.suppress(EOFError, OSError):
        built = _ready(order, send)
        if built is not None:
            be_silent()
            # A start keeps the normal priority, because callers wait for it.
            with contextlib.suppress(OSError):
                os.nice(order.niceness)
            _answer_all(built, channel, send, lines)
    # Exit without waiting for threads that the plugin left running, or for its exit handlers.
    os._exit(0)


def _ready(order: Order, send: Send) -> Built | None:
    try:
        built = _build(order)
        told = {
            "suite": getattr(built.port, "suite", order.provider),
            "predicate_types": getattr(built.port, "predicate_types", ()),
            "extensions": calls_taken(built.thing),
            "batches": isinstance(built.thing, BatchVerifier),
        }
        send(msgspec.convert(told, Ready))
    except (StartError, IdentityError, msgspec.ValidationError) as error:
        send(Unfit(str(error), isinstance(error, NotConfigured)))
        return None
    return built


def _build(order: Order) -> Built:
    logger = logging.getLogger("identity")
    source = order.source
    collection = collect([source], Settings(plugins=Plugins(import_seconds=order.import_seconds)))
    for _, _, reason in collection.failed:
        raise source.error(reason)
    (socket,) = (one for one in (PROVER, SECURING) if one.hook == order.hook)
    provided = offers_of(collection, socket)
    if order.provider not in provided:
        raise PluginError(f"{source}: provides no {socket.kind} {order.provider} in a worker process")
    clock: Any = SimpleNamespace(now=partial(datetime.now, UTC), monotonic=monotonic)
    # No database: its address contains a password, and a prover does no I/O.
    context = BuildContext(clock, logger.getChild(order.provider), order.data_dir, None, workers=order.servers)
    bulkhead = Bulkhead(f"{socket.kind}:{order.provider}", Limits(1.0, 1, 1, 1.0), socket.contract, clock, logger)
    return build(provided[order.provider], socket, order.tables, context, bulkhead)


def _answer_all(built: Built, channel: socket.socket, send: Send, lines: _Lines) -> None:
    """Answer calls. Return when the server has closed the channel and the prover is closed."""
    while True:
        try:
            body = receive(channel)
        except EOFError:
            break
        lines.left = _MOST_LINES
        answer = _answer(built, body)
        # Delete the witness before the next call comes.
        del body
        send(answer)
    close = getattr(built.thing, "close", None)
    if close is not None:
        # The server waits one second for this and ignores the outcome.
        with contextlib.suppress(Exception):
            close()


def _answer(built: Built, body: bytes) -> Message:
    try:
        call = decode_call(body)
    except Exception as error:  # noqa: BLE001  (the plugin border)
        return _failed(error)
    match call:
        case VerifyTogether():
            return Ended(_together(built, call))
        case ReadTogether(calls) | ProveTogether(calls):
            return Ended([_alone(built, one) for one in calls])
        case _:
            return _alone(built, call)


def _together(built: Built, call: VerifyTogether) -> list[Returned | Raised | Failed]:
    try:
        refusals = call.refusals(built.thing)
    except BaseException:  # noqa: BLE001  (as in _alone; which call it was shows when each is made by itself)
        return [_alone(built, one) for one in call.calls]
    return [Returned(Raw(b"null")) if refusal is None else Raised.from_error(refusal) for refusal in refusals]


def _alone(built: Built, call: Single) -> Returned | Raised | Failed:
    try:
        try:
            value: Any = call.ask(built.thing)
        except built.bulkhead.contract.errors as error:
            return Raised.from_error(error)
        return Returned(Raw(msgspec.json.encode(value)))
    except BaseException as error:  # noqa: BLE001  (the plugin border; SystemExit in a call is a failure too)
        return _failed(error)


def _failed(error: BaseException) -> Failed:
    return Failed(f"raised {type(error).__name__} at {summarize_traceback(error)}")


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
    most, (_, hard) = memory_mebibytes << 20, resource.getrlimit(resource.RLIMIT_AS)
    most = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    _die_with(parent)
    leave_no_core()


def _die_with(parent: int) -> None:
    """Make the kernel kill this process when the thread that started it ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        # The parent ended before the kernel had the request.
        os._exit(1)


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
