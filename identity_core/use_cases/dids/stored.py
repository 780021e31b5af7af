"""Fast path of resolveDid and listDidHistory: the stored bytes of a version's document and metadata, without decoding.

It serves every DID whose newest row belongs to the newest entry on the ledger and has no key in its grace period: then no version
exists by definition. ``ResolveDid`` and ``ListDidHistory`` serve all others, and deactivated DIDs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Container
from datetime import datetime
from typing import Final

from msgspec import Struct, field

from identity_codec.times import micros
from identity_core.cache import BoundedCache
from identity_core.errors import InvalidRequest
from identity_core.ports.repositories import DocumentIndex, StoredVersion
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.read import HistoryPage, Resolution, parse_version_query
from identity_core.wire import ListDidHistoryQuery, ResolveDidQuery

_SECOND: Final = 1_000_000
HEADS: Final = 4_096


class StoredHeads(Struct, frozen=True):
    """A reader of the newest version of a DID. ``kept`` is the cache of versions that need no query while the index follows them.
    Raises ``DidQuarantined``: when a row is not ours."""

    methods: Container[str]
    index: DocumentIndex
    check: HeadCheck
    kept: BoundedCache[str, StoredVersion] = field(default_factory=lambda: BoundedCache(HEADS))

    async def __call__(self, did: str, newest: StoredVersion | None = None) -> StoredVersion | None:
        """Return the newest version on index and ledger, or None. ``newest``: the row, if it was just read from the index."""
        if newest is None:
            head = self.kept.get(did)
            if head is not None and self.index.generation(did) == head.version_id:
                return head
            newest = await self.index.stored_head(did)
        if newest is None or b'"revoked"' in newest.document:
            return None
        # A text that has rows was parsed before they were written.
        is_known = did.split(":", 2)[1] in self.methods and await self.check.is_newest(did, newest)
        return newest if is_known else None

    def keep(self, did: str, head: StoredVersion) -> None:
        """Cache the version that was just read as the newest one."""
        self.index.follow(did, head.version_id)
        self.kept.store(did, head)


class ResolveStored(Struct, frozen=True):
    """Fast path of ``ResolveDid``, with its ``cosigned``. It returns the newest version and the resolution. It returns None if
    ``ResolveDid`` must be called, which also refuses invalid queries. Raises the errors of ``heads``."""

    heads: StoredHeads
    cosigned: Callable[[int], Awaitable[tuple[int, datetime] | None]] | None = None

    async def __call__(
        self, did: str, query: ResolveDidQuery
    ) -> tuple[StoredVersion, Resolution[StoredVersion]] | None:
        try:
            version_id, time = parse_version_query(query)
        except InvalidRequest:
            return None
        head = await self.heads(did)
        if head is None or head.deactivated:
            return None
        found: tuple[StoredVersion, StoredVersion | None] | None = head, None
        if version_id is not None and version_id != head.version_id:
            found = await self._followed(did, version_id, head)
        elif time is not None:
            found = await self._find_at_time(did, time.replace(microsecond=0), head)
        if found is None:
            return None
        version, following = found
        cosigned = None
        if self.cosigned is not None and version.receipt is not None:
            cosigned = await self.cosigned(version.receipt.sequence - 1)
        awaits = self.cosigned is not None and cosigned is None
        return head, Resolution(version, False, None, head.version_id, following, None, cosigned, awaits)

    async def _find_at_time(
        self, did: str, time: datetime, head: StoredVersion
    ) -> tuple[StoredVersion, StoredVersion | None] | None:
        second = micros(time) // _SECOND
        if head.updated // _SECOND <= second:
            return head, None
        if head.version_id == 1:
            return None
        number = await self.heads.index.version_at(did, time, newest=head.version_id - 1)
        found = await self._followed(did, number, head)
        # The time must lie between both; else a row that the search read was changed or deleted.
        if found is None or not found[0].updated // _SECOND <= second < found[1].updated // _SECOND:
            return None
        return found

    async def _followed(
        self, did: str, version_id: int, head: StoredVersion
    ) -> tuple[StoredVersion, StoredVersion] | None:
        if not 0 < version_id < head.version_id:
            return None
        is_last = version_id + 1 == head.version_id
        stored = await self.heads.index.stored(did, after=version_id - 1, limit=1 if is_last else 2)
        rows = [*stored, head] if is_last else stored
        if [row.version_id for row in rows] != [version_id, version_id + 1]:
            return None
        return rows[0], rows[1]


class ListStoredHistory(Struct, frozen=True):
    """Fast path of ``ListDidHistory``. It returns None if ``ListDidHistory`` must be called. Raises the errors of ``heads``."""

    heads: StoredHeads
    visible_after_deactivation: bool

    async def __call__(
        self, did: str, query: ListDidHistoryQuery, *, after: int | None
    ) -> HistoryPage[StoredVersion] | None:
        descending, limit = query.order == "desc", query.limit
        items = await self.heads.index.stored(did, after=after or 0, limit=limit, descending=descending)
        if not items:
            return None
        is_newest_among = after is None and (descending or len(items) < limit)
        head = await self.heads(did, items[0 if descending else -1] if is_newest_among else None)
        if head is None or (head.deactivated and not self.visible_after_deactivation):
            return None
        total = head.version_id
        above = total + 1 if after is None else min(after, total + 1)
        numbers = range(above - 1, 0, -1) if descending else range((after or 0) + 1, total + 1)
        last = items[-1].version_id
        # A row among them was deleted, or there are versions after the newest.
        if [item.version_id for item in items] != [*numbers[:limit]]:
            return None
        return HistoryPage(total, items, last if last != numbers[-1] else None)
