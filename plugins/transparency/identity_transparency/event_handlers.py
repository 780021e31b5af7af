"""The handlers of the tag ``events``."""

from __future__ import annotations

from msgspec import Struct

from identity_codec.times import printed
from identity_core.api.request import NO_STORE, Answer, Request
from identity_transparency import wire
from identity_transparency.use_cases.events import ListEvents


class EventHandlers(Struct, frozen=True):
    """listEvents."""

    events: ListEvents

    async def list_events(self, request: Request) -> Answer:
        query: wire.ListEventsQuery = request.query
        items = tuple(
            wire.Event(
                sequence=version.receipt.sequence,
                did=str(version.state.did),
                version_id=version.state.version_id,
                operation=version.state.operation,
                timestamp=printed(version.receipt.recorded_at),
                transaction_hash=version.receipt.transaction_hash,
                block_number=version.receipt.block_number,
            )
            for version in await self.events(query)
            if version.receipt is not None
        )
        next_after = items[-1].sequence if items else query.after
        return Answer(200, wire.EventList(items=items, next_after=next_after), headers=[NO_STORE])
