"""resolveDid: the document of a DID, now, at a version or at a time (DID Resolution §4). listDids: the DIDs that an API key created.
listDidHistory: the versions of a DID, with those that are not written yet. getDidLog: its entries as they were recorded.

A log can be long and its readers slow. So it is read in pages, each after the reader has consumed those before it. The answer does not
contain entries that are appended meanwhile.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec import Struct

from identity_codec.times import printed
from identity_core.domain.callers import Caller
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.inputs import optional_time
from identity_core.errors import DidNotFound, Forbidden, InvalidRequest, LedgerUnavailable
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import DocumentIndex, IndexedVersion
from identity_core.use_cases.dids.index import CurrentVersion, DidReader, in_use
from identity_core.wire import ListDidHistoryQuery, ListDidsQuery, ResolveDidQuery


class Resolution(Struct, frozen=True):
    """One version of a DID, and the values of its metadata.

    ``deactivated`` is the DID's state now, independent of the requested version. ``following`` is the version after this one.
    ``stale_at`` is the time at which the answer changes without a write (a grace period ends), or None. ``cosigned`` is the earliest
    stored cosigned checkpoint that covers the version, as (entries, time). ``awaits``: whether witnesses have yet to cosign one.
    """

    version: IndexedVersion
    deactivated: bool
    deactivated_at: datetime | None
    head_version_id: int
    following: IndexedVersion | None
    stale_at: datetime | None
    cosigned: tuple[int, datetime] | None = None
    awaits: bool = False


Followed = tuple[IndexedVersion, IndexedVersion | None]
"""A version and the one after it."""


class ResolveDid(Struct, frozen=True):
    """Use case resolveDid. ``cosigned`` returns the cosigned checkpoint that covers the index of a leaf; None without witnesses.

    Raises ``DidNotFound``: when the DID or the version is unknown. Raises ``DidDeactivated``: when the version of a deactivated DID is
    unknown. Raises ``InvalidRequest``: when the query has both version and time, or a malformed time. Raises ``PluginUnavailable`` and
    ``NotAcceptable`` as ``DidReader.elsewhere`` does."""

    reader: DidReader
    cosigned: Callable[[int], Awaitable[tuple[int, datetime] | None]] | None = None

    async def __call__(self, did: Did, query: ResolveDidQuery) -> Resolution:
        version_id, version_time = parse_version_query(query)
        try:
            standing = await self.reader.read_current(did)
        except DidNotFound:
            # A DID from the network has only its present document, none by version or time.
            found = await self.reader.elsewhere(did) if version_id is None and version_time is None else None
            if found is None:
                raise
            standing = CurrentVersion(found, ())
        head = standing.head
        version, following = await self._wanted(did, standing, version_id, version_time)
        cosigned = None
        if self.cosigned is not None and version.receipt is not None:
            cosigned = await self.cosigned(version.receipt.sequence - 1)
        return Resolution(
            version=version,
            deactivated=head.state.deactivated,
            deactivated_at=head.state.updated_at if head.state.deactivated else None,
            head_version_id=head.state.version_id,
            following=following,
            stale_at=history.find_grace_end(head.state),
            cosigned=cosigned,
            awaits=self.cosigned is not None and version.receipt is not None and cosigned is None,
        )

    async def _wanted(
        self, did: Did, standing: CurrentVersion, version_id: int | None, version_time: datetime | None
    ) -> Followed:
        try:
            if version_id is not None:
                return await self._by_id(did, standing, version_id)
            if version_time is not None:
                # The answer for a future time is that of now: a pending expiry must not be predicted, and none is in ``standing``.
                return await self._by_time(did, standing, version_time)
        except DidNotFound:
            # A deactivated DID is "gone" for every requested version (openapi/DECISIONS.md §2.8).
            await self.reader.active(did)
            raise
        return standing.head, None

    async def _by_id(self, did: Did, standing: CurrentVersion, version_id: int) -> Followed:
        newest = (standing.recorded, *standing.due)
        for version, following in zip(newest, (*standing.due, None), strict=True):
            if version.state.version_id == version_id:
                return version, following
        if 0 < version_id < standing.recorded.state.version_id:
            return await self.reader.followed(did, version_id, standing.recorded)
        raise DidNotFound(
            "The DID has no such version.", details={"did": str(did), "versionId": min(version_id, 2**53)}
        )

    async def _by_time(self, did: Did, standing: CurrentVersion, time: datetime) -> Followed:
        second = time.astimezone(UTC).replace(microsecond=0)
        for version in (*reversed(standing.due), standing.recorded):
            if version.state.updated_at.replace(microsecond=0) <= second:
                return await self._by_id(did, standing, version.state.version_id)
        written = standing.recorded.state.version_id
        number = 0 if written == 1 else await self.reader.index.version_at(str(did), second, newest=written - 1)
        if number == 0:
            first, _ = await self._by_id(did, standing, 1)
            if first.state.updated_at.replace(microsecond=0) <= second:
                raise self.reader.check.incomplete(did, 1)
            raise DidNotFound(
                "The DID did not exist at this time.", details={"did": str(did), "versionTime": printed(second)}
            )
        found, following = await self.reader.followed(did, number, standing.recorded)
        # The time must lie between both; else a row that the search read was changed or deleted.
        for version, is_later in ((found, False), (following, True)):
            if (version.state.updated_at.replace(microsecond=0) > second) is not is_later:
                raise self.reader.check.incomplete(did, version.state.version_id)
        return found, following


def parse_version_query(query: ResolveDidQuery) -> tuple[int | None, datetime | None]:
    """Return the version id and the time of a query. Raises ``InvalidRequest``: when it has both (DID Resolution §4.1)."""
    if query.version_id is not None and query.version_time is not None:
        raise InvalidRequest("versionId and versionTime exclude each other.")
    return query.version_id, optional_time(query.version_time, "versionTime")


class ListDids(Struct, frozen=True):
    """Use case listDids: heads in order of DID, one more than the limit if there is one. Raises ``Forbidden``: when the caller is not an
    API key, or the key does not have the scope, or with ``all`` is not an admin key."""

    index: DocumentIndex

    async def __call__(self, query: ListDidsQuery, caller: Caller, *, after: str | None) -> Sequence[IndexedVersion]:
        caller.require_key("dids:list")
        if query.all and not (caller.is_admin and caller.api_key and caller.api_key.allowed_targets is None):
            raise Forbidden("Only an admin key without an allowlist lists all DIDs.")
        return await self.index.owned(None if query.all else caller.identity, after=after, limit=query.limit + 1)


class HistoryPage(Struct, frozen=True):
    """A page of versions. ``after`` is the version id after which the next page begins, or None on the last page."""

    total: int
    items: tuple[IndexedVersion, ...]
    after: int | None


class ListDidHistory(Struct, frozen=True):
    """Use case listDidHistory. Raises ``DidNotFound``. Raises ``DidDeactivated``: when the DID is deactivated, unless the setting shows
    its history."""

    reader: DidReader
    visible_after_deactivation: bool

    async def __call__(self, did: Did, query: ListDidHistoryQuery, *, after: int | None) -> HistoryPage:
        standing = await self.reader.read_current(did)
        descending, recorded, due = query.order == "desc", standing.recorded, standing.due
        if not self.visible_after_deactivation:
            in_use(did, standing)
        total = recorded.state.version_id + len(due)
        first = after if after is not None else (total + 1 if descending else 0)
        items = await self._slice(did, recorded, due, first, query.limit, descending)
        last = items[-1].state.version_id if items else 0
        more = bool(items) and (last > 1 if descending else last < total)
        return HistoryPage(total, tuple(items), last if more else None)

    async def _slice(
        self,
        did: Did,
        recorded: IndexedVersion,
        due: tuple[IndexedVersion, ...],
        after: int,
        limit: int,
        descending: bool,
    ) -> list[IndexedVersion]:
        written = recorded.state.version_id
        if descending:
            unwritten = [version for version in reversed(due) if version.state.version_id < after][:limit]
            rest = limit - len(unwritten)
            below = min(after, written + 1)
            return unwritten + await self._stored(did, recorded, below, rest, descending=True)
        stored = await self._stored(did, recorded, after, limit, descending=False) if after < written else []
        unwritten = [version for version in due if version.state.version_id > after]
        return stored + unwritten[: limit - len(stored)]

    async def _stored(
        self, did: Did, recorded: IndexedVersion, after: int, limit: int, *, descending: bool
    ) -> list[IndexedVersion]:
        if limit <= 0:
            return []
        if recorded.receipt is None:
            return [recorded]
        found = await self.reader.index.versions(str(did), after=after, limit=limit, descending=descending)
        written = recorded.state.version_id
        numbers = (
            range(after - 1, max(after - 1 - limit, 0), -1) if descending else range(after + 1, written + 1)[:limit]
        )
        by_number = {version.state.version_id: version for version in found}
        missing = next((number for number in numbers if number not in by_number), None)
        if missing is not None:
            raise self.reader.check.incomplete(did, missing)
        return [by_number[number] for number in numbers]


# Of at most 16 KiB each (openapi/DECISIONS.md §2.12). A reader that has stopped makes the service hold two or three pages: those that
# the transport has, and one that waits for it.
ENTRIES_OF_A_PAGE: Final = 4
# So short a log is no more than a page of long entries, and is answered at once.
ENTRIES_AT_ONCE: Final = 16
OCTETS_AT_ONCE: Final = ENTRIES_OF_A_PAGE * 16 * 1024


class DidLog(Struct, frozen=True):
    """A log as JSON lines, each ended by a newline: its length in bytes, its pages, and the number of its versions."""

    byte_count: int
    pages: AsyncIterator[bytes]
    versions: int


class GetDidLog(Struct, frozen=True):
    """Use case getDidLog. Raises ``DidNotFound``; the pages of the log raise ``LedgerUnavailable``."""

    reader: DidReader
    ledger: LedgerBackend
    visible_after_deactivation: bool

    async def __call__(self, did: Did) -> DidLog:
        size = await self.ledger.log_size(str(did))
        if not size.entries:
            raise DidNotFound("The ledger has no log of the DID.", details={"did": did.safe_text})
        if not self.visible_after_deactivation:
            await self.reader.active(did)
        return self.beginning(did, size.entries, size.byte_count)

    async def at_once(self, did: Did) -> tuple[bytes, bytes] | None:
        """Return the whole log and its last line by one read of an embedded ledger. Return None for a long log, and if deactivation hides
        logs. Raises ``DidNotFound``, ``LedgerUnavailable``."""
        if not self.visible_after_deactivation:
            return None
        lines = await self._page(str(did), 0, ENTRIES_AT_ONCE + 1)
        if not lines:
            raise DidNotFound("The ledger has no log of the DID.", details={"did": did.safe_text})
        whole = b"".join(lines)
        return (whole, lines[-1]) if len(lines) <= ENTRIES_AT_ONCE and len(whole) <= OCTETS_AT_ONCE else None

    def beginning(self, did: Did, versions: int, byte_count: int) -> DidLog:
        """Return the first ``versions`` of a log, which have ``byte_count`` bytes without newlines."""
        return DidLog(byte_count + versions, self._pages(str(did), versions), versions)

    async def first(self, did: Did) -> bytes:
        """Return the first line. Raises ``LedgerUnavailable``."""
        (line,) = await self._page(str(did), 0, 1) or (b"",)
        if not line:
            raise LedgerUnavailable(details={"did": str(did)})
        return line

    async def read_log_and_last_line(self, did: Did, log: DidLog) -> tuple[bytes | None, bytes]:
        """Return the whole of ``log`` if it is one page, else None; and its last line. Each line has the hash of the one before it, so
        the last line identifies the log. Raises ``LedgerUnavailable``."""
        if log.versions <= ENTRIES_OF_A_PAGE:
            page = await anext(log.pages)
            if len(page) != log.byte_count:
                raise LedgerUnavailable(details={"did": str(did)})
            return page, page[page.rfind(b"\n", 0, -1) + 1 :]
        lines = await self._page(str(did), log.versions - 1, 1)
        if not lines:
            raise LedgerUnavailable(details={"did": str(did)})
        return None, lines[0]

    async def _pages(self, did: str, versions: int) -> AsyncIterator[bytes]:
        for after in range(0, versions, ENTRIES_OF_A_PAGE):
            count = min(ENTRIES_OF_A_PAGE, versions - after)
            page = b"".join(await self._page(did, after, count))
            yield page

    async def _page(self, did: str, after: int, limit: int) -> list[bytes]:
        entries = await self.ledger.entries(did, after=after, limit=limit)
        if [line.version for line in entries] != list(range(after + 1, after + 1 + len(entries))):
            raise LedgerUnavailable(details={"did": did})
        return [line.entry + b"\n" for line in entries]
