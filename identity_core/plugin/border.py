"""The border between the core and plugins: deadline, limit of concurrent calls, circuit, conversion of errors, check
of results.

``guard`` returns an object of the same port. Whatever the plugin does, a call of it ends in one of these ways:

- the result, of the type that the port declares, or one of the errors of its contract;
- ``PluginTimeout``: no answer within the deadline (the work may still have been done);
- ``PluginUnavailable`` (a ledger: ``LedgerUnavailable``): it raised another error, or returned another type;
- ``PluginUnavailable`` with ``retryAfter``: this method failed too often in a row and is shut off for a while;
- ``Overloaded``: the bulkhead has its maximum of unfinished calls.

Plain members run on the caller's thread, so they have no deadline and no limit of calls: they end in the first or the
third way.

An error of the port's contract is an answer. For example, a ledger may report that it is unavailable: that is passed
on each time and does not open the circuit. An exception that is not an ``Exception`` (``SystemExit``, a panic in a
library written in Rust) is a failure of the plugin like any other.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable
from operator import attrgetter
from typing import Any, Protocol, TypeVar, cast

from msgspec import Struct, field

from identity_core.errors import IdentityError, Overloaded, PluginTimeout, PluginUnavailable
from identity_core.plugin.conformity import Check, Member, members
from identity_core.plugin.limits import Circuit, Deadline, DeadlineExceeded, Limits, State, rest
from identity_core.ports.clock import Clock


class Tracing(Protocol):
    """Factory of the spans of one process."""

    def application(self, app: Any) -> Any:
        """Return the ASGI application ``app`` with a span around each request. Its ``shapes`` are those of ``app``."""

    def call(self, function: Callable[..., Awaitable[Any]], plugin: str, member: str) -> Callable[..., Awaitable[Any]]:
        """Return the coroutine function of a plugin's member with a span for each call within a request."""

    def close(self) -> None:
        """Send what has not been sent. May block."""


T = TypeVar("T")

BLOCKING_SECONDS = 0.25


class Fault(Exception):
    """A plugin's failure, described where it happened in a text that contains no secret."""


class Contract(Struct, frozen=True):
    """The errors that a port lets through.

    ``errors``: the port's own. ``otherwise``: the error that replaces any other exception.
    ``secretive``: the port handles secrets, so the text of a foreign exception is not logged.
    """

    errors: tuple[type[IdentityError], ...]
    otherwise: type[IdentityError] = PluginUnavailable
    secretive: bool = False


class Bulkhead(Struct):
    """The counters of one plugin, for ``/ready``, ``identity plugins list`` and metrics. ``calls`` counts admitted
    calls."""

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
    tracing: Tracing | None = None

    @property
    def state(self) -> State:
        """Return the worst state of the plugin's methods."""
        states = {circuit.state for circuit in self.circuits.values()}
        return "open" if "open" in states else "probing" if "probing" in states else "closed"

    def circuit(self, method: str) -> Circuit:
        """Return the circuit of one method. Each method has a separate one: a ledger whose appends fail can still be
        read."""
        limits = self.limits
        return self.circuits.setdefault(
            method, Circuit(self.clock, failures_to_open=limits.failures_to_open, retry_seconds=limits.retry_seconds)
        )

    def admit(self, circuit: Circuit) -> None:
        """Admit one more call.

        Raises ``Overloaded``: when the limit of concurrent calls is reached; ``PluginUnavailable``: while the circuit
        is open.
        """
        try:
            if self.in_flight >= self.limits.calls_in_flight:
                raise Overloaded(details={"plugin": self.name, "retryAfter": 1})
            if circuit.tripped:
                circuit.admit(self.name)
        except IdentityError:
            self.refused += 1
            raise

    def failed(
        self, method: str, reason: str, *, circuit: Circuit | None = None, error: BaseException | None = None
    ) -> IdentityError:
        """Count and log a failure, and return the error for the caller.

        Of a foreign ``error`` the log contains the place where it was raised. Unless the port is secretive, the log
        also contains its text, and the returned error has it as its cause.
        """
        self.failures += 1
        self.last_failure = f"{method}: {reason}"
        more = "; shut off for now" if circuit is not None and circuit.failed() else ""
        if error is not None:
            text = "" if self.contract.secretive else f": {str(error)[:500]}"
            more = f"{text} at {summarize_traceback(error)}{more}"
        self.logger.error("plugin %s: %s %s%s", self.name, method, reason, more)
        stand_in = self.contract.otherwise(details={"plugin": self.name})
        stand_in.__cause__ = None if self.contract.secretive else error
        return stand_in

    def returned(self, method: str, result: object, circuit: Circuit | None = None) -> IdentityError:
        """Count and log a result of a wrong type as a failure, and return the error for the caller."""
        return self.failed(
            method, f"returned a {type(result).__name__} that the port does not promise", circuit=circuit
        )

    def blocked(self, method: str, seconds: float, circuit: Circuit) -> None:
        """Log that a coroutine ran for ``seconds`` without awaiting, so that every other request waited. It cannot be
        stopped. Past the deadline it counts as a failure."""
        reason = f"blocked the event loop for {seconds:.2f} s; synchronous code belongs into in_threads"
        if seconds >= self.limits.deadline_seconds:
            self.failed(method, reason, circuit=circuit)
        else:
            self.logger.warning("plugin %s: %s %s", self.name, method, reason)


def guard(thing: T, protocol: type[Any], bulkhead: Bulkhead) -> T:
    """Return ``thing`` behind the border, as an object of ``protocol``."""
    return cast(T, _guarded_class(protocol, bulkhead)(thing))


def _guarded_class(protocol: type[Any], bulkhead: Bulkhead) -> type[Any]:
    content: dict[str, Any] = {
        "__doc__": f"{protocol.__name__} behind the border.",
        "__slots__": ("_thing",),
        "__init__": _keep,
    }
    for member in members(protocol):
        content[member.name] = (_awaited if member.is_coroutine else _plain)(member, bulkhead)
    return type(f"Guarded{protocol.__name__}", (), content)


def _keep(self: Any, thing: Any) -> None:
    self._thing = thing


def _plain(member: Member, bulkhead: Bulkhead) -> Any:
    name, is_property = member.name, member.is_property

    def perform(self: Any, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._thing, name)(*args, **kwargs)

    call = guard_function(attrgetter(f"_thing.{name}") if is_property else perform, name, member.check, bulkhead)
    if member.result is not None:
        call = _wrapped(call, _guarded_class(member.result, bulkhead))
    call.__name__ = name
    return property(call) if is_property else call


def _wrapped(call: Callable[..., Any], wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    return lambda *args, **kwargs: wrap(call(*args, **kwargs))


def guard_function(function: Callable[..., T], name: str, check: Check, bulkhead: Bulkhead) -> Callable[..., T]:
    """Return one plain function behind the border."""
    # An interrupt from the keyboard is not a failure.
    let_through: tuple[type[BaseException], ...] = (*bulkhead.contract.errors, KeyboardInterrupt)

    def call(*args: Any, **kwargs: Any) -> T:
        bulkhead.calls += 1
        try:
            result = function(*args, **kwargs)
        except let_through:
            raise
        except BaseException as error:  # noqa: BLE001  (the plugin border)
            raise bulkhead.failed(name, f"raised {type(error).__name__}", error=error)  # noqa: B904  (it knows its cause)
        if not check(result):
            raise bulkhead.returned(name, result)
        return result

    return call


def _awaited(member: Member, bulkhead: Bulkhead) -> Any:
    name, check = member.name, member.check
    circuit = bulkhead.circuit(name)
    deadline = Deadline(bulkhead.limits.deadline_seconds)
    calls_in_flight = bulkhead.limits.calls_in_flight
    contract_errors = bulkhead.contract.errors
    now = bulkhead.clock.monotonic

    async def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if circuit.tripped or bulkhead.in_flight >= calls_in_flight:
            bulkhead.admit(circuit)
        bulkhead.calls += 1
        bulkhead.in_flight += 1
        began = now()
        took = 0.0
        try:
            coroutine = getattr(self._thing, name)(*args, **kwargs)
            try:
                waits_for = coroutine.send(None)
            except StopIteration as done:
                result = done.value
                took = now() - began
            else:
                took = now() - began
                result = await rest(coroutine, waits_for, deadline)
        except Overloaded:
            circuit.undecided()
            raise
        except contract_errors:
            circuit.succeeded()
            raise
        except DeadlineExceeded:
            bulkhead.timeouts += 1
            bulkhead.failed(name, f"gave no answer within {deadline.seconds:g} s", circuit=circuit)
            raise PluginTimeout(details={"plugin": bulkhead.name}) from None
        except Fault as fault:
            raise bulkhead.failed(name, str(fault), circuit=circuit) from None
        except BaseException as error:
            if from_outside(error):
                circuit.undecided()
                raise
            raise bulkhead.failed(name, f"raised {type(error).__name__}", circuit=circuit, error=error)  # noqa: B904
        finally:
            bulkhead.in_flight -= 1
        if not check(result):
            raise bulkhead.returned(name, result, circuit)
        if took > BLOCKING_SECONDS:
            bulkhead.blocked(name, took, circuit)
        elif circuit.failures:
            circuit.succeeded()
        return result

    made = call if bulkhead.tracing is None else bulkhead.tracing.call(call, bulkhead.name, name)
    made.__name__ = name
    return made


def from_outside(error: BaseException) -> bool:
    """Return whether a call ended because its caller was cancelled or the process was interrupted, and not because
    the plugin failed."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is not None and task.cancelling() > 0
    return isinstance(error, GeneratorExit | KeyboardInterrupt)


def summarize_traceback(error: BaseException) -> str:
    """Return the last source places that ``error`` passed, which contain no values."""
    places = traceback.extract_tb(error.__traceback__)[-3:]
    return " < ".join(f"{one.filename}:{one.lineno} {one.name}" for one in reversed(places))
