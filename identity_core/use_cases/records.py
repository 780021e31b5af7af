"""What is kept for a time goes when that is over, a few rows at a time; and what is a holder's own goes when the holder says so."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from identity_core.domain.activity import Event, RequestContext
from identity_core.ports.clock import Clock
from identity_core.ports.retention import KINDS, RecordKind, RecordRetention
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.record import Record

HELD_SECONDS: Final = 0.02
"""The writer is everybody's: a step that took longer is followed by a smaller one."""

FEWEST, MOST, FIRST = 10, 500, 100
SOON_SECONDS: Final = 0.2


@dataclass(slots=True)
class StepSize:
    """How many ``rows`` a step takes: fewer after one that held the writer too long, more while there are more."""

    rows: int = FIRST

    def took(self, seconds: float, gone: int) -> None:
        if seconds > HELD_SECONDS:
            self.rows = max(FEWEST, self.rows // 2)
        elif gone == self.rows:
            self.rows = min(MOST, self.rows * 2)


@dataclass(slots=True)
class SweepRecords(Repeating):
    """Erases what is older than ``kept`` says; a kind that is not in it is kept for good. ``monotonic`` is in seconds."""

    complaint = "records past their time cannot be erased"
    interval_seconds = 60.0

    records: RecordRetention
    kept: Mapping[RecordKind, timedelta]
    clock: Clock
    monotonic: Callable[[], float]
    size: StepSize = field(default_factory=StepSize, init=False)

    async def step(self) -> float:
        """One step of each kind. Comes back soon while there is more."""
        now, more = self.clock.now(), False
        for kind, kept in self.kept.items():
            began, limit = self.monotonic(), self.size.rows
            gone = await self.records.forget(kind, now - kept, limit=limit)
            self.size.took(self.monotonic() - began, gone)
            more = more or gone == limit
        return SOON_SECONDS if more else self.interval_seconds


@dataclass(frozen=True, slots=True)
class Erasure:
    """How many records of each kind were erased, and how many proofs wait for their anchors and can be erased later."""

    erased: Mapping[RecordKind, int]
    waiting: int


@dataclass(frozen=True, slots=True)
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
