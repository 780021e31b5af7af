"""listEvents: every change by ledger sequence, for any client that follows the service."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from identity_core.ports.repositories import DocumentIndex, IndexedVersion
from identity_transparency.wire import ListEventsQuery


class ListEvents(Struct, frozen=True):
    """At most ``limit`` recorded versions after the sequence ``after``, without a gap.

    Rows reach the index a moment after their entries, and not always in order. A client that continues from the last returned
    sequence misses none, because rows behind a gap are returned only when the gap is filled or the index has passed it.
    """

    index: DocumentIndex

    async def __call__(self, query: ListEventsQuery) -> Sequence[IndexedVersion]:
        found = await self.index.events(after=query.after, limit=query.limit)
        last = query.after
        for place, version in enumerate(found):
            if version.receipt is None:
                return found[:place]
            sequence = version.receipt.sequence
            # What is missing before the cursor is withheld, and will not come.
            if sequence > last + 1 and sequence > await self.index.cursor() + 1:
                return found[:place]
            last = sequence
        return found
