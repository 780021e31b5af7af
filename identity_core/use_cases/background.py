"""Background tasks of a process: one task that runs step after step, from ``begin`` to ``close`` or within ``async
with``.

A refusal is logged once for each new reason, and the step is retried. A programming error ends the task, with an alarm. Left out:
exponential back-off. The steps are cheap, and an operator who repairs the cause should see the effect within a second.

``ForgetRows`` deletes expired rows; its ``StepSize`` bounds the time of a step.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import ClassVar, Final, Self

from msgspec import Struct

from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.ports.custodian import AttendedCustodian

log = logging.getLogger("identity")


class Wakeup:
    """A notification of every change. Call ``next_change`` before reading the state, so that no change in between is missed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def next_change(self) -> asyncio.Event:
        """Return the event that the next change sets."""
        return self._event

    def notify(self) -> None:
        """Wake all tasks that wait now."""
        self._event.set()
        self._event = asyncio.Event()


async def awaited(change: asyncio.Event, seconds: float) -> None:
    """Wait for the change, and at most ``seconds``."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await change.wait()


@dataclass(slots=True)
class Repeating(ABC):
    """The base class of background tasks. A subclass has ``step`` and ``complaint``, the first words of the log line of a failure."""

    complaint: ClassVar[str]
    interval_seconds: ClassVar[float] = 1.0

    hindrance: Callable[[], IdentityError | None] = field(default=lambda: None, init=False)
    """A function that returns the reason why the task must not run steps now, or None; other code sets it."""
    called: Wakeup = field(default_factory=Wakeup, init=False)
    """The notification that ends the pause."""
    rest_seconds: float = field(default=0.0, init=False)
    """The minimum pause after a step without a refusal. The code that notifies ``called`` of every change sets it."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _refusal: str = field(default="", init=False)

    @abstractmethod
    async def step(self) -> float | None:
        """Do the work that is possible now. Return the seconds until the next step, by default ``interval_seconds``. ``called`` does not
        end a shorter pause, and ``rest_seconds`` does not extend it."""

    @property
    def fault(self) -> str:
        """Return the reason why the task makes no progress; empty if it does."""
        has_ended = self._task is not None and self._task.done()
        return "the task has ended" if has_ended else self._refusal

    def begin(self) -> None:
        self._task = asyncio.create_task(self.run())
        self._task.add_done_callback(self._tell_end)

    async def close(self) -> None:
        """Stop the task at once; the next startup does the remaining work."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def run(self) -> None:
        """Run steps until the task is cancelled."""
        while True:
            change = self.called.next_change()
            seconds = await self.guarded()
            if seconds >= self.interval_seconds:
                await awaited(change, seconds)
            else:
                await asyncio.sleep(seconds)

    async def guarded(self) -> float:
        """Run a step and return the pause. Log a refusal instead of raising it."""
        try:
            if (hindrance := self.hindrance()) is not None:
                raise hindrance
            seconds = await self.step()
        except IdentityError as error:
            if str(error) != self._refusal:
                log.error("%s: %s %s", self.complaint, error, error.details)
            self._refusal = str(error)
            return self.interval_seconds
        self._refusal = ""
        if seconds is not None and seconds < self.interval_seconds:
            return seconds
        return max(seconds or self.interval_seconds, self.rest_seconds)

    def _tell_end(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and task.exception() is not None:
            log.error("ALARM: %s: the task has ended", self.complaint, exc_info=task.exception())


HELD_SECONDS: Final = 0.02
"""The maximum time in seconds for which a step holds the writer, which all requests share."""

FEWEST, MOST, FIRST = 10, 500, 25
SOON_SECONDS: Final = 0.2


CLOCK_SET_BACK: Final = timedelta(hours=1, minutes=1)
"""How far a clock may be set back before changes stop. What records a use is stored for this time after its end, so that nothing that was
used or revoked becomes usable again."""


def erasing_time(clock: Clock) -> datetime:
    """Return the time by which records may be erased: never later than a watched clock has counted since the start."""
    now = clock.now()
    ahead = getattr(clock, "ahead_seconds", None)
    return now - timedelta(seconds=0.0 if ahead is None else max(0.0, ahead(now)))


class StepSize(Struct):
    """The number of ``rows`` of one kind in a step. It decreases after a step of more than half of the maximum time. It increases while
    there are more rows and twice the time is well below the maximum. ``monotonic`` is in seconds."""

    monotonic: Callable[[], float]
    rows: int = FIRST

    async def step(self, forget: Callable[[int], Awaitable[int]]) -> bool:
        """Call ``forget`` with the maximum number of rows; it returns the number of deleted rows. Return whether there may be more."""
        began, limit = self.monotonic(), self.rows
        gone = await forget(limit)
        seconds = self.monotonic() - began
        if seconds > HELD_SECONDS / 2:
            self.rows = max(FEWEST, limit // 2)
        elif gone == limit and seconds < HELD_SECONDS / 5:
            self.rows = min(MOST, limit * 2)
        return gone == limit


@dataclass(slots=True)
class ForgetRows(Repeating):
    """A background task that deletes expired rows of an extension.

    ``forget``: deletes at most ``limit`` rows that expired by a time and returns their number. ``kept_after``: the time for which a row
    is stored after its expiry.
    """

    complaint = "expired rows cannot be deleted"
    interval_seconds = 30.0

    forget: Callable[..., Awaitable[int]]
    clock: Clock
    kept_after: timedelta = CLOCK_SET_BACK
    size: StepSize = field(init=False)

    def __post_init__(self) -> None:
        self.size = StepSize(self.clock.monotonic)

    async def step(self) -> float:
        """Delete some of them. Return the pause, which is short while there are more."""
        until = erasing_time(self.clock) - self.kept_after
        more = await self.size.step(lambda limit: self.forget(until, limit=limit))
        return SOON_SECONDS if more else self.interval_seconds


@dataclass(slots=True)
class AttendCustodian(Repeating):
    """A background task that reports to the custodian that the process serves, and whether it can open the secrets after resealing."""

    complaint = "a rotation of the seal does not see this process"

    custodian: AttendedCustodian

    async def step(self) -> float:
        return await self.custodian.attend()
