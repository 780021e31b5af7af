"""The operation of the extension."""

from __future__ import annotations

from msgspec import Struct

from identity_core.api.request import NO_STORE, Answer, Request
from identity_operations.erasure import EraseRecords
from identity_operations.kinds import KINDS
from identity_operations.wire import ErasedCounts, ErasedRecords


class RecordHandlers(Struct, frozen=True):
    """eraseRecords."""

    erase: EraseRecords

    async def erase_records(self, request: Request) -> Answer:
        holder, done = await self.erase(request.body, request.context)
        counts = ErasedCounts(**{kind: done.erased.get(kind, 0) for kind in KINDS})
        return Answer(200, ErasedRecords(holder_did=holder, erased=counts, waiting=done.waiting), headers=[NO_STORE])
