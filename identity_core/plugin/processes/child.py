"""What runs in a worker: builds the prover, then answers call after call until the server closes the channel.

Whatever the prover does becomes one of three answers: a result, an error of the port's contract, or a fault, of which only the
type and the place are told. What cannot be answered from inside (a hang, a crash, ``os._exit``) is the server's to notice.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import pickle
import socket
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from typing import Any, Final, get_type_hints

from identity_core.errors import IdentityError
from identity_core.plugin.build import Built, build
from identity_core.plugin.bulkhead import Bulkhead, Limits, whence
from identity_core.plugin.collect import collect
from identity_core.plugin.errors import NotConfigured, PluginError
from identity_core.plugin.processes import frames, wire
from identity_core.plugin.processes.confine import be_silent, confine, keep_from, stand_back
from identity_core.plugin.processes.frames import frame, receive
from identity_core.plugin.processes.order import Order
from identity_core.plugin.provider import BuildContext
from identity_core.plugin.results import Check, check_for
from identity_core.plugin.sockets import Socket, prover_socket
from identity_core.plugin.sources import GROUP, PluginSource
from identity_core.ports.prover import Prover
from identity_core.settings import Plugins, Settings, StartError

METHODS: Final = ("prove", "read", "verify")
_LONGEST_LINE: Final = 500
_MOST_LINES: Final = 50
"""Log lines of one call, or of the build, that the server gets to see."""


@dataclass(frozen=True, slots=True)
class _Clock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return monotonic()


class _Lines(logging.Handler):
    """Sends log lines to the server, which writes them with its own."""

    def __init__(self, send: Callable[[bytes, bytes], None]) -> None:
        super().__init__()
        self._send = send
        self.left = _MOST_LINES

    def emit(self, record: logging.LogRecord) -> None:
        """Sends what is short enough to be a line; no traceback, whose last line may hold anything."""
        if self.left > 0:
            self.left -= 1
            line = {"level": record.levelname, "text": record.getMessage()[:_LONGEST_LINE]}
            self._send(frames.LOG, json.dumps(line).encode())


def main(descriptor: int) -> None:
    """Lives at the other end of ``descriptor``."""
    channel = socket.socket(fileno=descriptor)
    kind, body = receive(channel)
    if kind != frames.ORDER:
        raise SystemExit("the first frame is no order")
    order: Order = pickle.loads(body)  # noqa: S301  (it comes from the process that started this one)
    confine(order.parent, order.memory_mebibytes)
    keep_from(channel)

    def send(kind: bytes, body: bytes) -> None:
        channel.sendall(frame(kind, body))

    lines = _Lines(send)
    logging.basicConfig(handlers=[lines], level=order.log_level)
    with contextlib.suppress(EOFError, OSError):
        built = _ready(order, send)
        if built is not None:
            be_silent()
            stand_back(order.niceness)
            _answer_all(built, channel, send, lines)
            _close(built.thing)
    # Threads that the plugin left running, and its exit handlers, keep nobody waiting.
    os._exit(0)


def _ready(order: Order, send: Callable[[bytes, bytes], None]) -> Built | None:
    try:
        built = _build(order, prover_socket())
        prover: Prover = built.port
        said = {"suite": prover.suite, "predicateTypes": sorted(prover.predicate_types)}
    except (StartError, IdentityError) as error:
        why = "waits" if isinstance(error, NotConfigured) else "failed"
        send(frames.UNFIT, json.dumps({"why": why, "reason": str(error)}).encode())
        return None
    send(frames.READY, json.dumps(said).encode())
    return built


def _build(order: Order, socket_: Socket) -> Built:
    logger = logging.getLogger("identity")
    source = PluginSource(order.source, order.distribution, order.version, _importing(order), order.reference)
    collection = collect([source], Settings(plugins=Plugins(import_seconds=order.import_seconds)))
    for _, _, reason in collection.failed:
        raise source.error(reason)
    offers = [
        offer for offer in collection.offers if offer.hook == socket_.hook and offer.provider.name == order.provider
    ]
    if not offers:
        raise PluginError(f"{source}: provides no prover {order.provider} in a worker process")
    clock = _Clock()
    # No database: its address holds a password, and a prover does no I/O.
    context = BuildContext(clock, logger.getChild(order.provider), order.data_dir, None, workers=order.servers)
    bulkhead = Bulkhead(f"prover:{order.provider}", Limits(1.0, 1, 1, 1.0), socket_.contract, clock, logger)
    return build(offers[0], socket_, order.tables, context, bulkhead)


def _importing(order: Order) -> Callable[[], object]:
    from importlib.metadata import EntryPoint

    return EntryPoint(order.source, order.reference, GROUP).load


def _answer_all(built: Built, channel: socket.socket, send: Callable[[bytes, bytes], None], lines: _Lines) -> None:
    contract = built.bulkhead.contract.errors
    checks = {name: check_for(get_type_hints(getattr(Prover, name)).get("return")) for name in METHODS}
    while True:
        try:
            _, body = receive(channel)
        except EOFError:
            return
        lines.left = _MOST_LINES
        kind, answer = _answer(built.thing, body, contract, checks)
        # The witness goes before the next call comes.
        del body
        send(kind, answer)


def _answer(
    thing: Any, body: bytes, contract: tuple[type[IdentityError], ...], checks: dict[str, Check]
) -> tuple[bytes, bytes]:
    try:
        method, arguments, named = wire.read_call_body(body)
        try:
            value = getattr(thing, method)(*arguments, **named)
        except contract as error:
            return frames.REFUSAL, wire.refusal(error)
        if not checks[method](value):
            return _fault(f"returned a {type(value).__name__} that the port does not promise")
        return frames.RESULT, wire.result(method, value)
    except BaseException as error:  # noqa: BLE001  (the plugin border; SystemExit in a call is a fault too)
        return _fault(f"raised {type(error).__name__} at {whence(error)}")


def _fault(reason: str) -> tuple[bytes, bytes]:
    return frames.FAULT, json.dumps({"reason": reason}).encode()


def _close(thing: Any) -> None:
    close = getattr(thing, "close", None)
    if close is not None:
        # The server gives it a second and does not ask how it went.
        with contextlib.suppress(Exception):
            close()
