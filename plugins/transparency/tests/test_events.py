"""The feed of events over the index."""

from __future__ import annotations

from typing import Any

import pytest
from identity_transparency.use_cases.events import ListEvents
from identity_transparency.wire import ListEventsQuery
from msgspec import structs

from identity_core.errors import PluginUnavailable
from tests.did_use_cases import Rooms, secret_of
from tests.unit.use_cases.test_did_lifecycle import add_service, on_rooms


@on_rooms
async def test_the_feed_ends_before_an_entry_that_has_no_row_yet(rooms: Rooms) -> None:
    created = await rooms.new_did()
    did, index = created.version.state.did, rooms.writer.index

    class Slow:
        """An index whose rows come later."""

        def __getattr__(self, name: str) -> Any:
            return getattr(index, name)

        async def record(self, *_: Any, **__: Any) -> None:
            raise PluginUnavailable

    structs.force_setattr(rooms.writer, "index", Slow())
    with pytest.raises(PluginUnavailable):
        await add_service(rooms, did, secret_of(created))
    structs.force_setattr(rooms.writer, "index", index)
    await rooms.new_did()
    feed = ListEvents(rooms.store.documents)

    async def sequences(after: int) -> list[int]:
        return [
            version.receipt.sequence
            for version in await feed(ListEventsQuery(after=after, limit=10))
            if version.receipt
        ]

    assert await sequences(0) == [1]
    assert await sequences(1) == []
    await rooms.catch_up()
    assert await sequences(1) == [2, 3]
