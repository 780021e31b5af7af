"""eraseRecords: the erasure of a holder's records at the holder's request. Expired records are erased a few rows at a time."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final

from msgspec import Struct

from identity_codec.structs import value_or
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
    """The erasure of records that are older than ``kept`` allows. A kind that is not in it is stored forever. ``monotonic`` is in
    seconds."""

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


class Erasure(Struct, frozen=True):
    """The numbers of erased records of each kind, and of those that wait for their anchors and can be erased later."""

    erased: Mapping[str, int]
    waiting: int


class EraseHolder(Struct, frozen=True):
    """The erasure of a DID's records as holder. The audit log records the requester before the erasure begins, and keeps its own
    lines."""

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


class EraseRecords(Struct, frozen=True):
    """The erasure of records for the holder, or for an API key that may act for the holder that it names.

    Raises ``InvalidRequest`` for an unknown kind, or a key that names no holder; ``InvalidDid``, ``Forbidden``.
    """

    reader: DidReader
    erase: EraseHolder

    async def __call__(self, wish: EraseRecordsRequest, context: RequestContext) -> tuple[str, Erasure]:
        """Erase the records. Return the holder and the numbers."""
        named, caller = value_or(wish.holder_did, None), context.caller
        holder = caller.acting if named is None else self.reader.parse(named)
        if holder is None:
            raise InvalidRequest("An API key says whose records it means.", details={"member": "holderDid"})
        caller.require_acting_for(holder, ERASE_SCOPE)
        unknown = sorted(set(wish.kinds) - set(KINDS))
        if unknown:
            what = f"{unknown[0]!r} is not a kind of record."
            raise InvalidRequest(what, details={"member": "kinds", "supported": [*KINDS]})
        return str(holder), await self.erase(str(holder), wish.kinds, context)
