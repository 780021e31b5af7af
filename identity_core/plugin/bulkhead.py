"""The border between the core and a plugin's asynchronous object: deadline, bound, type check, circuit.

``guarded`` returns an object of the same port. A call of it ends in one of these ways, whatever the plugin does:

- what the port promises: its result, of the promised type, or one of the errors of its contract;
- ``PluginTimeout``: no answer within the deadline (the work may still have been done);
- ``PluginUnavailable`` (a ledger: ``LedgerUnavailable``): it raised something else, or returned something else;
- ``PluginUnavailable`` with ``retryAfter``: this method has failed too often in a row and is shut off for a while;
- ``Overloaded``: more calls are unfinished than the bulkhead takes.

An error of the port's contract is an answer: a ledger that says that it is unavailable says so at once and is believed
each time; it does not open the circuit. What is no ``Exception`` (``SystemExit``, a panic in a library that is
written in Rust) is a failure of the plugin like any other.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import traceback
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast, get_type_hints

from identity_core.errors import IdentityError, Overloaded, PluginTimeout, PluginUnavailable
from identity_core.plugin.circuit import Circuit, State
from identity_core.plugin.deadline import Deadline, DeadlineExceeded, rest
from identity_core.plugin.results import Check, check_for
from identity_core.ports.clock import Clock

T = TypeVar("T")

BLOCKING_SECONDS = 0.25


class Fault(Exception):
    """A plugin's failure that was put into words where it happened, in words that hold no secret."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a plugin gets of the server. Times are seconds, ``calls_in_flight`` counts unfinished calls of the whole
    plugin."""

    deadline_seconds: float
    calls_in_flight: int
    failures_to_open: int
    retry_seconds: float


@dataclass(frozen=True, slots=True)
class Contract:
    """What a port lets through: ``errors`` are its own, ``otherwise`` makes the error that stands for any other
    exception. ``secretive`` ports handle secrets, so the text of a foreign exception is not logged."""

    errors: tuple[type[IdentityError], ...]
    otherwise: type[IdentityError] = PluginUnavailable
    secretive: bool = False


@dataclass(slots=True)
class Bulkhead:
    """The counters of one plugin, for ``/ready``, ``identity plugins list`` and metrics. ``calls`` counts those that
    were let in."""

    name: str
    limits: Limits
    contract: Contract
    clock: Clock
    logger: logging.Logger
    calls: int = 0
    failures: int = 0
    timeouts: int = 0
    refused: int = 0
    in_flight: int = 0
    last_failure: str = ""
    circuits: dict[str, Circuit] = field(default_factory=dict)

    @property
    def state(self) -> State:
        """The worst state of its methods."""
        states = {circuit.state for circuit in self.circuits.values()}
        return "open" if "open" in states else "probing" if "probing" in states else "closed"

    def circuit(self, method: str) -> Circuit:
        """The circuit of one method: a ledger whose appends fail can still be read."""
        limits = self.limits
        return self.circuits.setdefault(
            method,
            Circuit(self.clock, failures_to_open=limits.failures_to_open, retry_seconds=limits.retry_seconds),
        )

    def failed(
        self, method: str, reason: str, *, circuit: Circuit | None = None, error: BaseException | None = None
    ) -> None:
        """Counts and logs a failure. Of a foreign ``error`` the log says where it came from, and its text only where
        that cannot hold a secret."""
        self.failures += 1
        self.last_failure = f"{method}: {reason}"
        more = "; shut off for now" if circuit is not None and circuit.failed() else ""
        if error is not None:
            text = "" if self.contract.secretive else f": {str(error)[:500]}"
            more = f"{text} at {whence(error)}{more}"
        self.logger.error("plugin %s: %s %s%s", self.name, method, reason, more)

    def blocked(self, method: str, seconds: float, circuit: Circuit) -> None:
        """A coroutine ran for so long without awaiting that every other request stood still; nobody can stop it, but it
        shows. Past the deadline it counts as a failure."""
        reason = f"blocked the event loop for {seconds:.2f} s; synchronous code belongs into in_threads"
        if seconds >= self.limits.deadline_seconds:
            self.failed(method, reason, circuit=circuit)
        else:
            self.logger.warning("plugin %s: %s %s", self.name, method, reason)

    @property
    def let_through(self) -> tuple[type[BaseException], ...]:
        """What a synchronous call may raise: the errors of its port, and an interrupt, which is nobody's fault."""
        return (*self.contract.errors, KeyboardInterrupt)

    def stand_in(self) -> IdentityError:
        """The error that the caller gets instead of a foreign one."""
        return self.contract.otherwise(details={"plugin": self.name})

    def cause(self, error: BaseException) -> BaseException | None:
        """The foreign ``error`` as the stand-in's cause, unless it may hold a secret: whoever logs the one logs the
        other."""
        return None if self.contract.secretive else error


def guarded(thing: T, protocol: type[Any], bulkhead: Bulkhead) -> T:
    """``thing`` behind its bulkhead. Coroutine methods of ``protocol`` are guarded; its other members are handed
    through after their type was checked once more at each use."""
    members: dict[str, Any] = {"__doc__": f"{protocol.__name__} behind a bulkhead.", "__slots__": ()}
    for name, member in protocol_members(protocol):
        if inspect.iscoroutinefunction(member):
            check = check_for(get_type_hints(member).get("return"))
            members[name] = guarded_method(getattr(thing, name), name, check, bulkhead)
        else:
            members[name] = property(_reader(thing, name, member, bulkhead))
    return cast(T, type(f"Guarded{protocol.__name__}", (), members)())


def protocol_members(protocol: type[Any]) -> list[tuple[str, Any]]:
    """The public members of a Protocol, inherited ones too."""
    return [(name, getattr(protocol, name)) for name in dir(protocol) if not name.startswith("_")]


def guarded_method(
    method: Callable[..., Coroutine[Any, Any, Any]], name: str, check: Check, bulkhead: Bulkhead
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """One coroutine method behind the bulkhead, as a member of a class."""
    circuit = bulkhead.circuit(name)
    deadline = Deadline(bulkhead.limits.deadline_seconds)
    calls_in_flight = bulkhead.limits.calls_in_flight
    contract_errors = bulkhead.contract.errors
    now = bulkhead.clock.monotonic

    async def call(self: object, *args: Any, **kwargs: Any) -> Any:
        if circuit.tripped or bulkhead.in_flight >= calls_in_flight:
            _admit(bulkhead, circuit)
        bulkhead.calls += 1
        bulkhead.in_flight += 1
        began = now()
        took = 0.0
        try:
            coroutine = method(*args, **kwargs)
            try:
                waits_for = coroutine.send(None)
            except StopIteration as done:
                result = done.value
                took = now() - began
            else:
                took = now() - began
                result = await rest(coroutine, waits_for, deadline)
        except contract_errors:
            circuit.succeeded()
            raise
        except DeadlineExceeded:
            bulkhead.timeouts += 1
            bulkhead.failed(name, f"gave no answer within {deadline.seconds:g} s", circuit=circuit)
            raise PluginTimeout(details={"plugin": bulkhead.name}) from None
        except Fault as fault:
            bulkhead.failed(name, str(fault), circuit=circuit)
            raise bulkhead.stand_in() from None
        except BaseException as error:
            if _from_outside(error):
                circuit.undecided()
                raise
            bulkhead.failed(name, f"raised {type(error).__name__}", circuit=circuit, error=error)
            raise bulkhead.stand_in() from bulkhead.cause(error)
        finally:
            bulkhead.in_flight -= 1
        if not check(result):
            reason = f"returned a {type(result).__name__} that the port does not promise"
            bulkhead.failed(name, reason, circuit=circuit)
            raise bulkhead.stand_in()
        if took > BLOCKING_SECONDS:
            bulkhead.blocked(name, took, circuit)
        elif circuit.failures:
            circuit.succeeded()
        return result

    call.__name__ = name
    return call


def _from_outside(error: BaseException) -> bool:
    """Whether a call ended because its caller goes away or somebody interrupts the process, and not by the plugin's fault."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit | KeyboardInterrupt)


def _admit(bulkhead: Bulkhead, circuit: Circuit) -> None:
    try:
        if bulkhead.in_flight >= bulkhead.limits.calls_in_flight:
            raise Overloaded(details={"plugin": bulkhead.name, "retryAfter": 1})
        if circuit.tripped:
            circuit.admit(bulkhead.name)
    except IdentityError:
        bulkhead.refused += 1
        raise


def _reader(thing: Any, name: str, member: Any, bulkhead: Bulkhead) -> Callable[[object], Any]:
    getter = member.fget if isinstance(member, property) else None
    check = check_for(get_type_hints(getter).get("return") if getter else Any)
    let_through = bulkhead.let_through

    def read(self: object) -> Any:
        try:
            value = getattr(thing, name)
            if not check(value):
                raise TypeError(f"a {type(value).__name__} that the port does not promise")
        except let_through:
            raise
        except BaseException as error:  # noqa: BLE001  (the plugin border)
            bulkhead.failed(name, f"raised {type(error).__name__}", error=error)
            raise bulkhead.stand_in() from bulkhead.cause(error)
        return value

    return read


def whence(error: BaseException) -> str:
    """The last places that ``error`` came through, which hold no values."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f"{one.filename}:{one.lineno} {one.name}" for one in reversed(places))
