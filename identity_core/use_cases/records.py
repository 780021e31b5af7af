"""What is kept for a time goes when that is over, a few rows at a time; and what is a holder's own goes when the holder says so."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from identity_core.domain.activity import Event, RequestContext
from identity_core.ports.clock import Clock
from identity_core.ports.retention import KINDS, RecordKind, RecordRetention
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.record import Record
from identity_core.values import value_class

HELD_SECONDS: Final = 0.02
"""The writer is everybody's: no step holds it longer."""

FEWEST, MOST, FIRST = 10, 500, 25
SOON_SECONDS: Final = 0.2


def erasing_time(clock: Clock) -> datetime:
    """Return the time by which records may be erased: never later than a watched clock has counted since the start."""
    now = clock.now()
    ahead = getattr(clock, "ahead_seconds", None)
    return now - timedelta(seconds=0.0 if ahead is None else max(0.0, ahead(now)))


@dataclass(slots=True)
class StepSize:
    """How many ``rows`` a step takes, of one kind: fewer after one that took more than half of what it may, more while there are more and
    twice as long a step is still far from that. ``monotonic`` is in seconds."""

    monotonic: Callable[[], float]
    rows: int = FIRST

    async def step(self, forget: Callable[[int], Awaitable[int]]) -> bool:
        """Calls ``forget`` with how many rows may go, which answers how many went. Whether there may be more."""
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
    """Deletes expired rows of an extension.

    ``forget``: deletes at most ``limit`` rows that expired by a time and returns their number. ``kept_after``: how long each is stored
    after its end.
    """

    complaint = "expired rows cannot be deleted"
    interval_seconds = 30.0

    forget: Callable[..., Awaitable[int]]
    clock: Clock
    kept_after: timedelta = timedelta(0)
    size: StepSize = field(init=False)

    def __post_init__(self) -> None:
        self.size = StepSize(self.clock.monotonic)

    async def step(self) -> float:
        """Delete some of them. Return the pause, which is short while there are more."""
        until = erasing_time(self.clock) - self.kept_after
        more = await self.size.step(lambda limit: self.forget(until, limit=limit))
        return SOON_SECONDS if more else self.interval_seconds


@dataclass(slots=True)
class SweepRecords(Repeating):
    """Erases what is older than ``kept`` says; a kind that is not in it is kept for good. ``monotonic`` is in seconds."""

    complaint = "records past their time cannot be erased"
    interval_seconds = 60.0

    records: RecordRetention
    kept: Mapping[RecordKind, timedelta]
    clock: Clock
    monotonic: Callable[[], float]
    sizes: Mapping[RecordKind, StepSize] = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = {kind: StepSize(self.monotonic) for kind in self.kept}

    async def step(self) -> float:
        """One step of each kind. Comes back soon while there is more."""
        now, more = erasing_time(self.clock), False
        for kind, kept in self.kept.items():
            more |= await self.sizes[kind].step(partial(self._forget, kind, now - kept))
        return SOON_SECONDS if more else self.interval_seconds

    async def _forget(self, kind: RecordKind, until: datetime, limit: int) -> int:
        return await self.records.forget(kind, until, limit=limit)


@value_class
class Erasure:
    """How many records of each kind were erased, and how many proofs wait for their anchors and can be erased later."""

    erased: Mapping[RecordKind, int]
    waiting: int


@value_class
class EraseHolder:
    """Erases the records of a DID as holder. The audit log says who wanted it before anything is gone, and keeps its own lines."""

    records: RecordRetention
    record: Record
    clock: Clock

    async def __call__(self, holder: str, kinds: Collection[RecordKind], context: RequestContext) -> Erasure:
        wanted = [kind for kind in KINDS if kind in kinds]
        event = Event(target=holder, details={"kinds": [*wanted]})
        await self.record(context, event, self.clock.now(), durable=True)
        erased = {kind: await self._all(kind, holder) for kind in wanted}
        return Erasure(erased, await self.records.waiting(holder) if "proofs" in kinds else 0)

    async def _all(self, kind: RecordKind, holder: str) -> int:
        gone = 0
        while (step := await self.records.erase(kind, holder, limit=FIRST)) == FIRST:
            gone += step
        return gone + step
