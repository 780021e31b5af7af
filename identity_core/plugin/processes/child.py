"""The main loop of a worker: it builds the prover, then answers each call until the server closes the channel.

Each call of the prover has one of three outcomes: a result, an error of the port's contract, or a failure. Of a
failure only the type and the place are reported. The server must detect what a worker cannot report (a hang, a crash,
``os._exit``).
"""

from __future__ import annotations

import contextlib
import logging
import os
import pickle
import socket
from collections.abc import Callable
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final

import msgspec
from msgspec import Raw

from identity_codec.values import value_class
from identity_core.errors import IdentityError
from identity_core.plugin.border import Bulkhead, whence
from identity_core.plugin.build import Built, build
from identity_core.plugin.choose import offers_of
from identity_core.plugin.limits import Limits
from identity_core.plugin.load import collect
from identity_core.plugin.processes import channel as messages
from identity_core.plugin.processes.channel import (
    Ended,
    Failed,
    Line,
    Message,
    ProveTogether,
    Raised,
    ReadTogether,
    Ready,
    Returned,
    Single,
    Unfit,
    VerifyTogether,
)
from identity_core.plugin.processes.confine import be_silent, confine, keep_from, stand_back
from identity_core.plugin.processes.extended import calls_taken
from identity_core.plugin.processes.worker import Order
from identity_core.plugin.sockets import PROVER, SECURING, BuildContext, NotConfigured, PluginError
from identity_core.ports.prover import BatchVerifier
from identity_core.settings import Plugins, Settings, StartError

Send = Callable[[Message], None]

_LONGEST_LINE: Final = 500
_MOST_LINES: Final = 50
"""The maximum of log lines that one call, or the build, may send to the server."""


@value_class
class _Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return monotonic()


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
    order: Order = pickle.loads(messages.receive(channel))  # noqa: S301  (it comes from the process that started this one)
    confine(order.parent, order.memory_mebibytes)
    keep_from(channel)

    def send(message: Message) -> None:
        channel.sendall(messages.frame(msgspec.json.encode(message)))

    lines = _Lines(send)
    logging.basicConfig(handlers=[lines], level=order.log_level)
    with contextlib.suppress(EOFError, OSError):
        built = _ready(order, send)
        if built is not None:
            be_silent()
            stand_back(order.niceness)
            _answer_all(built, channel, send, lines)
    # Exit without waiting for threads that the plugin left running, or for its exit handlers.
    os._exit(0)


def _ready(order: Order, send: Send) -> Built | None:
    try:
        built = _build(order)
        told = {
            "suite": getattr(built.port, "suite", order.provider),
            "predicate_types": getattr(built.port, "predicate_types", ()),
        }
        told |= {
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
    clock = _Clock()
    # No database: its address contains a password, and a prover does no I/O.
    context = BuildContext(clock, logger.getChild(order.provider), order.data_dir, None, workers=order.servers)
    bulkhead = Bulkhead(f"{socket.kind}:{order.provider}", Limits(1.0, 1, 1, 1.0), socket.contract, clock, logger)
    return build(provided[order.provider], socket, order.tables, context, bulkhead)


def _answer_all(built: Built, channel: socket.socket, send: Send, lines: _Lines) -> None:
    """Answer calls. Return when the server has closed the channel and the prover is closed."""
    while True:
        try:
            body = messages.receive(channel)
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
        call = messages.decode_call(body)
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
    return [Returned(Raw(b"null")) if refusal is None else Raised.of(refusal) for refusal in refusals]


def _alone(built: Built, call: Single) -> Returned | Raised | Failed:
    try:
        try:
            value: Any = call.ask(built.thing)
        except built.bulkhead.contract.errors as error:
            return Raised.of(error)
        return Returned(Raw(msgspec.json.encode(value)))
    except BaseException as error:  # noqa: BLE001  (the plugin border; SystemExit in a call is a failure too)
        return _failed(error)


def _failed(error: BaseException) -> Failed:
    return Failed(f"raised {type(error).__name__} at {whence(error)}")
