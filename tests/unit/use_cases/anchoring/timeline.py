"""What the holder of the proofs is told."""

from __future__ import annotations

from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline

from tests.anchoring import Anchorage


async def kinds(rooms: Anchorage) -> list[str]:
    """The kinds of the lines in her timeline, sorted."""
    rows = await StoredTimeline(rooms.store.database).list(TimelineQuery(frozenset({"did:x:hana"})))
    return sorted(row.entry.kind for row in rows)
