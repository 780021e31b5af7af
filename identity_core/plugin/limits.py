"""Limits of calls to a plugin: a deadline for each call, and recovery after failures.

**Deadline.** A coroutine that ends without suspending (a cache, an embedded database read on the loop) needs one step
and no timer. One that suspends is driven inside the caller's task. At the deadline it is cancelled and has a grace
period for its clean-up. If it still waits after that, it is closed, so that a plugin which swallows the cancellation
cannot hold its caller. A deadline cannot stop a coroutine that blocks the event loop; such code belongs into
``in_threads``. A call that is still in a queue at its deadline raises ``Overloaded``, which is not a failure.

**Circuit.** Consecutive failures shut off a method of a plugin. After a while one call may try again.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import types
from collections.abc import Coroutine, Generator
from typing import Any, Literal, TypeVar

from msgspec import Struct

from identity_core.errors import Overloaded, PluginUnavailable
from identity_core.ports.clock import Clock

T = TypeVar("T")

CLEANUP_SECONDS = 1.0
MOST_RETRY_SECONDS = 60.0

State = Literal["closed", "open", "probing"]


class Limits(Struct, frozen=True):
    """The limits of one plugin. Times are seconds, ``calls_in_flight`` counts unfinished calls of the whole plugin."""

    deadline_seconds: float
    calls_in_flight: int
    failures_to_open: int
    retry_seconds: float


class Circuit(Struct):
    """The circuit of one method. ``tripped`` is the only attribute that is read for a call without failures."""

    clock: Clock
    failures_to_open: int
    retry_seconds: float
    failures: int = 0
    tripped: bool = False
    probing: bool = False
    _until: float = 0.0
    _failed_probes: int = 0

    @property
    def state(self) -> State:
        """Return the state. closed: calls pass. open: calls are refused. probing: one call is a trial."""
        return "probing" if self.probing else "open" if self.tripped else "closed"

    def admit(self, plugin: str) -> None:
        """Let this call be the probe if the wait is over. Raises ``PluginUnavailable``: otherwise."""
        remaining = self._until - self.clock.monotonic()
        if self.probing or remaining > 0:
            retry = max(1, math.ceil(remaining))
            raise PluginUnavailable(
                "A component that the operation needs was shut off after repeated failures.",
                details={"plugin": plugin, "retryAfter": retry},
            )
        self.probing = True

    def succeeded(self) -> None:
        """Reset the circuit after a successful call."""
        self.failures = self._failed_probes = 0
        self.tripped = self.probing = False

    def failed(self) -> bool:
        """Count a failure. Return whether it opened the circuit. A failed probe doubles the wait, up to a minute."""
        self.failures += 1
        opens = self.probing or (not self.tripped and self.failures >= self.failures_to_open)
        if opens:
            self._failed_probes += self.probing
            # The exponent is limited, like the wait.
            wait = self.retry_seconds * 2 ** min(self._failed_probes, 20)
            self._until = self.clock.monotonic() + min(wait, max(MOST_RETRY_SECONDS, self.retry_seconds))
            self.tripped, self.probing = True, False
        return opens

    def undecided(self) -> None:
        """End a call whose caller was cancelled. If it was a probe, the next call may be one."""
        self.probing = False


class DeadlineExceeded(Exception):
    """The coroutine did not end in time."""


class Alarm(Struct, eq=False):
    """The timeout of one call. When it rings, it cancels the call's task and records that the cancellation was its
    own."""

    task: asyncio.Task[Any]
    due: float
    rang: bool = False

    def ring(self) -> None:
        """Cancel the task."""
        self.rang = True
        self.task.cancel()


class Deadline:
    """The same timeout for many calls: ``seconds`` each. Calls time out in the order in which they began, so one
    timer is enough. A timer per call would cost more than the rest of the border."""

    def __init__(self, seconds: float, cleanup_seconds: float = CLEANUP_SECONDS) -> None:
        self.seconds = seconds
        self.cleanup_seconds = min(seconds, cleanup_seconds)
        self._waiting: dict[Alarm, None] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    def set(self, task: asyncio.Task[Any]) -> Alarm:
        """Return an alarm for the call that ``task`` waits for."""
        loop = task.get_loop()
        if loop is not self._loop:
            self._loop, self._timer = loop, None
            self._waiting.clear()
        alarm = Alarm(task, loop.time() + self.seconds)
        self._waiting[alarm] = None
        if self._timer is None:
            self._timer = loop.call_at(alarm.due, self._ring_due, loop)
        return alarm

    def unset(self, alarm: Alarm) -> None:
        """Remove the alarm of a call that has ended."""
        self._waiting.pop(alarm, None)

    def _ring_due(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        while self._waiting:
            alarm = next(iter(self._waiting))
            if alarm.due > now:
                self._timer = loop.call_at(alarm.due, self._ring_due, loop)
                return
            del self._waiting[alarm]
            alarm.ring()


@types.coroutine
def rest(coroutine: Coroutine[Any, Any, T], waits_for: Any, deadline: Deadline) -> Generator[Any, Any, T]:
    """Return the result of a coroutine whose first step yielded ``waits_for``. Raises ``DeadlineExceeded``: when it
    is late."""
    task = asyncio.current_task()
    if task is None:
        # A caller without a task closes a coroutine that would wait, which is not a failure of the plugin.
        yield waits_for
        raise RuntimeError("a deadline needs a task")
    before = task.cancelling()
    alarm = deadline.set(task)
    late: asyncio.TimerHandle | None = None
    try:
        while True:
            try:
                sent = yield waits_for
            except asyncio.CancelledError as cancelled:
                if alarm.rang:
                    alarm.rang = False
                    task.uncancel()
                    if late is not None:
                        _abandon(coroutine)
                        break
                    late = task.get_loop().call_later(deadline.cleanup_seconds, alarm.ring)
                waits_for = coroutine.throw(cancelled)
            except BaseException as thrown:  # noqa: BLE001  (a coroutine gets whatever is thrown at its caller)
                waits_for = coroutine.throw(thrown)
            else:
                waits_for = coroutine.send(sent)
    except StopIteration as done:
        if late is None:
            result: T = done.value
            return result
    except (asyncio.CancelledError, Exception) as error:
        if late is None or isinstance(error, Overloaded):
            raise
    finally:
        deadline.unset(alarm)
        if late is not None:
            late.cancel()
    # A cancellation from outside takes precedence over the deadline, however the late coroutine ended.
    if task.cancelling() > before:
        raise asyncio.CancelledError
    raise DeadlineExceeded


async def finish(coroutine: Coroutine[Any, Any, Any], deadline: Deadline) -> None:
    """Run a coroutine to its end. Raises ``DeadlineExceeded``: when it is late."""
    try:
        waits_for = coroutine.send(None)
    except StopIteration:
        return
    await rest(coroutine, waits_for, deadline)


def _abandon(coroutine: Coroutine[Any, Any, Any]) -> None:
    # A plugin's clean-up may raise; its caller gets the timeout only.
    with contextlib.suppress(Exception):
        coroutine.close()
