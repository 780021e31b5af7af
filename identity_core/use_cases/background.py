"""What a process does beside its requests: one task that takes step after step, from ``begin`` to ``close`` or within
``async with``.

A refusal is told once for each new reason and tried again; a fault of ours ends the task, with an alarm. Left out: waiting longer
after each failure. The steps are cheap, and an operator who mends the cause wants to see it within a second.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar, Self

from identity_core.errors import IdentityError

log = logging.getLogger("identity")


class Wakeup:
    """Told of every change. Take ``next_change`` before looking, so that no change in between is missed."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def next_change(self) -> asyncio.Event:
        """Return the event that the next change sets."""
        return self._event

    def notify(self) -> None:
        """Wakes all who wait now."""
        self._event.set()
        self._event = asyncio.Event()


async def awaited(change: asyncio.Event, seconds: float) -> None:
    """Returns when it is notified, and at the latest after ``seconds``."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await change.wait()


@dataclass(slots=True)
class Repeating(ABC):
    """A subclass says what ``step`` does, and with which words ``complaint`` begins the line that tells why it fails."""

    complaint: ClassVar[str]
    interval_seconds: ClassVar[float] = 1.0

    hindrance: Callable[[], IdentityError | None] = field(default=lambda: None, init=False)
    """What keeps it from its steps for now, set by the code that knows."""
    called: Wakeup = field(default_factory=Wakeup, init=False)
    """Ends its pause."""
    rest_seconds: float = field(default=0.0, init=False)
    """The least pause after a step without a refusal, set by the code that notifies ``called`` of every change."""
    _task: asyncio.Task[None] | None = field(default=None, init=False)
    _refusal: str = field(default="", init=False)

    @abstractmethod
    async def step(self) -> float | None:
        """Do what can be done now. Return after how many seconds there may be more to do, by default ``interval_seconds``; a shorter pause
        is neither ended by ``called`` nor extended to ``rest_seconds``."""

    @property
    def fault(self) -> str:
        """Why it does not get on; empty when it does."""
        has_ended = self._task is not None and self._task.done()
        return "the task has ended" if has_ended else self._refusal

    def begin(self) -> None:
        self._task = asyncio.create_task(self.run())
        self._task.add_done_callback(self._tell_end)

    async def close(self) -> None:
        """Stops in the middle of whatever it does; the next start does the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def __aenter__(self) -> Self:
        self.begin()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self.close()

    async def run(self) -> None:
        """Works until it is cancelled."""
        while True:
            change = self.called.next_change()
            seconds = await self.guarded()
            if seconds >= self.interval_seconds:
                await awaited(change, seconds)
            else:
                await asyncio.sleep(seconds)

    async def guarded(self) -> float:
        """A step whose refusal is told and not raised."""
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
