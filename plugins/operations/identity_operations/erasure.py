"""eraseRecords: what is kept about a holder goes when the holder says so. Records past their time are erased a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final

from identity_codec.structs import given
from identity_codec.values import value_class
from identity_core.domain.activity import Event, RequestContext
from identity_core.errors import InvalidRequest
from identity_core.ports.clock import Clock
from identity_core.use_cases.background import FIRST, SOON_SECONDS, Repeating, StepSize, erasing_time
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.record import Record
from identity_operations.kinds import KINDS
from identity_operations.retention import StoredRecords
from identity_operations.wire import EraseRecordsRequest

ERASE_SCOPE: Final = "records:erase"


@dataclass(slots=True)
class SweepRecords(Repeating):
    """Erases what is older than ``kept`` says; a kind that is not in it is kept for good. ``monotonic`` is in seconds."""

    complaint = "records past their time cannot be erased"
    interval_seconds = 60.0

    records: StoredRecords
    kept: Mapping[str, timedelta]
    clock: Clock
    monotonic: Callable[[], float]
    sizes: Mapping[str, StepSize] = field(init=False)

    def __post_init__(self) -> None:
        self.sizes = {kind: StepSize(self.monotonic) for kind in self.kept}

    async def step(self) -> float:
        """Run one step of each kind. Return the seconds until the next, which are few while there is more to do."""
        now, more = erasing_time(self.clock), False
        for kind, kept in self.kept.items():
            more |= await self.sizes[kind].step(partial(self.records.forget, kind, now - kept))
        return SOON_SECONDS if more else self.interval_seconds


@value_class
class Erasure:
    """How many records of each kind were erased, and how many wait for their anchors and can be erased later."""

    erased: Mapping[str, int]
    waiting: int


@value_class
class EraseHolder:
    """Erases the records of a DID as holder. The audit log says who wanted it before anything is gone, and keeps its own lines."""

    records: StoredRecords
    record: Record
    clock: Clock

    async def __call__(self, holder: str, kinds: Collection[str], context: RequestContext) -> Erasure:
        wanted = [kind for kind in self.records.rules if kind in kinds]
        event = Event(target=holder, details={"kinds": [*wanted]})
        await self.record(context, event, self.clock.now(), durable=True)
        erased = {kind: await self._all(kind, holder) for kind in wanted}
        return Erasure(erased, sum([await self.records.waiting(kind, holder) for kind in wanted]))

    async def _all(self, kind: str, holder: str) -> int:
        gone = 0
        while (step := await self.records.erase(kind, holder, limit=FIRST)) == FIRST:
            gone += step
        return gone + step


@value_class
class EraseRecords:
    """Erase records for the holder, or for an API key that may act for the holder that it names.

    Raises ``InvalidRequest`` for an unknown kind, or a key that names no holder; ``InvalidDid``, ``Forbidden``.
    """

    reader: DidReader
    erase: EraseHolder

    async def __call__(self, wish: EraseRecordsRequest, context: RequestContext) -> tuple[str, Erasure]:
        """Return whose records they were, and how many."""
        named, caller = given(wish.holder_did, None), context.caller
        holder = caller.acting if named is None else self.reader.parse(named)
        if holder is None:
            raise InvalidRequest("An API key says whose records it means.", details={"member": "holderDid"})
        caller.require_acting_for(holder, ERASE_SCOPE)
        unknown = sorted(set(wish.kinds) - set(KINDS))
        if unknown:
            what = f"{unknown[0]!r} is no kind of record."
            raise InvalidRequest(what, details={"member": "kinds", "supported": [*KINDS]})
        return str(holder), await self.erase(str(holder), wish.kinds, context)
