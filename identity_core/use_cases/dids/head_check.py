"""Comparison of the index with the ledger, before a decision depends on the index.

A row's tag proves that this service wrote the row, not that it is the newest: rows can be deleted and old ones restored. So the index
is compared with the ledger's newest entry of a DID when a process first reads the DID, and whenever another program may have written
to the index since. Before the first change the whole log is folded. An index that is behind is updated from the ledger, as after a
crash. Every other difference raises ``DidQuarantined``, for that DID only and as long as the difference exists.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from msgspec import Struct

from identity_core.cache import BoundedCache
from identity_core.domain.dids import logs
from identity_core.domain.dids import state as history
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.logs import check_not_retired
from identity_core.domain.dids.state import DidState, LogInvalid
from identity_core.errors import (
    DidQuarantined,
    InvalidDid,
    LedgerUnavailable,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
    VersionConflict,
)
from identity_core.ports.did_method import DidMethod
from identity_core.ports.ledger import LedgerBackend, LedgerEntry, NewestEntries, NewestEntry
from identity_core.ports.repositories import DocumentIndex, IndexedVersion, Quarantine
from identity_core.use_cases.dids.log_keys import Generations, KnownGenerations

HEADS_KEPT: Final = 4_096
# The fold of an entry takes about 0.2 ms, and other requests wait for the event loop.
FOLDED_AT_ONCE: Final = 16
# Behind, brought up, and behind again, because another process writes: that often and no more.
LOOKS: Final = 4
UNASKED: Final = (LedgerUnavailable, PluginTimeout, PluginUnavailable, Overloaded)
"""The errors of an unavailable ledger."""
NOT_KEPT: Final = "the index cannot be brought up to the ledger"


class Checked(Struct, frozen=True):
    """A head that matched the ledger, and whether this process folded or wrote its log."""

    head: IndexedVersion
    is_folded: bool


@dataclass(slots=True)
class HeadCheck:
    """The check, and a cache of the heads that passed it in this process; the oldest are evicted first."""

    methods: Mapping[str, DidMethod]
    ledger: LedgerBackend
    index: DocumentIndex
    quarantine: Quarantine
    retired: dict[str, int] = field(default_factory=dict)
    """The retired keys of the log by multikey, with the tree size from which their entries are invalid."""
    generations: Generations = field(default_factory=KnownGenerations)
    """The reader of the service log, which fills ``retired``."""
    refused_at: float = field(default=-math.inf, init=False)
    """Monotonic time of the last entry that the ledger failed to record."""
    _checked: BoundedCache[str, Checked] = field(default_factory=lambda: BoundedCache(HEADS_KEPT), init=False)
    _newest_of: NewestEntries | None = field(init=False)

    def __post_init__(self) -> None:
        # Evaluated once, because the check of the Protocol takes as long as a look-up in the index.
        self._newest_of = self.ledger if isinstance(self.ledger, NewestEntries) else None

    async def head(self, did: Did, *, decides: bool) -> IndexedVersion | None:
        """Return the newest version on ledger and index, or None for a DID that neither has.

        ``decides``: the result authorises something, so it must be the newest version now. Otherwise an earlier check in this process
        suffices, and the ledger may be unavailable. Raises ``DidQuarantined``. Raises ``PluginUnavailable``: when the ledger is needed
        and unavailable.
        """
        name = did.text
        brought: IndexedVersion | None = None
        for _ in range(LOOKS):
            head = await self.index.head(name)
            if brought is not None and (head is None or head.state.version_id < brought.state.version_id):
                raise self._differs(name, NOT_KEPT)
            known = self._checked.get(name)
            # The index returns the same object until another program writes to it.
            if (
                head is not None
                and known is not None
                and (known.head is head or (not decides and _is_same(known.head, head)))
            ):
                return head
            try:
                newest = await self._newest(name)
            except UNASKED as error:
                if decides:
                    raise PluginUnavailable("The ledger cannot be asked about this DID; try again.") from error
                return head
            if newest is None and head is None:
                return None
            if newest is not None and (head is None or head.state.version_id < newest.version):
                brought = await self.bring_up(did)
                continue
            if newest is None or head is None or not _is_newest(head, newest):
                raise self._differs(name, "the newest row of the index is not the newest entry of the ledger")
            self.keep(name, head, is_folded=known is not None and known.is_folded and _is_same(known.head, head))
            return head
        if brought is None:
            raise self._differs(name, NOT_KEPT)
        # Other processes wrote in every iteration. This was the newest version at the last query of the ledger, which is after the call.
        return brought

    def find_cached_head(self, did: Did) -> IndexedVersion | None:
        """Return the head for a decision if it is known without I/O, else None."""
        head, checked = self.index.find_cached_head(did.text), self._checked.get(did.text)
        return head if checked is not None and checked.head is head else None

    async def fold(self, did: Did, head: IndexedVersion) -> None:
        """Fold the ledger's log of the DID, with every signature, and compare its end with ``head``. It is a no-op for a log that this
        process folded or wrote.

        Raises ``DidQuarantined``: when the log does not end in ``head``. Raises ``VersionConflict``: when the log has more entries by
        now."""
        name = did.text
        known = self._checked.get(name)
        if known is not None and known.is_folded and _is_same(known.head, head):
            return
        folded = await self.folded(did)
        if len(folded) > head.state.version_id:
            raise VersionConflict(details={"did": name})
        if not folded or folded[-1].state != head.state:
            raise self._differs(name, "the log on the ledger does not lead to the newest row of the index")
        self.keep(name, head, is_folded=True)

    async def remembered(self, did: Did, head: IndexedVersion) -> IndexedVersion:
        """Return ``head`` with its past from the ledger's log, for a change that restores a version. Raises ``DidQuarantined``. Raises
        ``VersionConflict``: when the log has more entries by now."""
        folded = await self.folded(did)
        if len(folded) != head.state.version_id:
            raise VersionConflict(details={"did": did.text})
        return folded[-1]

    def incomplete(self, did: Did, version_id: int) -> DidQuarantined:
        """Return the error for a version that is missing although the head counts it."""
        return self._differs(did.text, f"version {version_id} is missing in the index")

    async def bring_up(self, did: Did) -> IndexedVersion | None:
        """Update the index from the ledger for one DID: another process wrote, or one died before indexing, or rows were deleted.
        Return the newest version on the ledger."""
        known = await self.index.head(did.text)
        whole = entries = await self.ledger.entries(did.text)
        await self.generations.now()
        if known is not None:
            at = known.state.version_id
            if len(entries) < at or not _is_entry(known, entries[at - 1]):
                raise self._differs(did.text, "a row of the index is not what the ledger has in its place")
            entries = entries[at:]
        try:
            versions = await self._fold(did, known.state if known is not None else None, entries)
        except history.HistoryNeeded:
            # A recovery restores a version. The rows of the index do not have the past that it needs.
            versions = (await self._fold(did, None, whole))[len(whole) - len(entries) :]
        if not versions:
            return known
        await self.index.record(versions)
        return versions[-1]

    async def folded(self, did: Did) -> Sequence[IndexedVersion]:
        """Return every version of the DID by its log on the ledger. Raises ``DidQuarantined``: when the log is invalid."""
        return await self._fold(did, None, await self.ledger.entries(did.text))

    async def _fold(self, did: Did, state: DidState | None, entries: Sequence[LedgerEntry]) -> list[IndexedVersion]:
        method = self.methods[did.method]
        await self.generations.fresh()
        versions = []
        for place, line in enumerate(entries, 1):
            try:
                after = method.apply(state, line.entry)
                check_not_retired(self.retired, line.entry, line.receipt.sequence - 1)
            except history.HistoryNeeded:
                raise
            except (LogInvalid, InvalidDid) as error:
                raise self._differs(did.text, f"entry {line.version} of its log is not valid: {error}") from error
            if after.version_id != line.version or after.did != did:
                raise self._differs(did.text, f"entry {line.version} of its log is that of another version or DID")
            if state is None:
                after = history.remembering(after)
            versions.append(IndexedVersion(after, line.receipt, logs.changes(state, after)))
            state = after
            if place % FOLDED_AT_ONCE == 0:
                await asyncio.sleep(0)
        return versions

    async def _newest(self, did: str) -> NewestEntry | None:
        if self._newest_of is not None:
            return await self._newest_of.newest(did)
        entries = await self.ledger.entries(did)
        return NewestEntry(entries[-1].version, entries[-1].receipt.transaction_hash) if entries else None

    def _differs(self, did: str, reason: str) -> DidQuarantined:
        self._checked.forget(did)
        self.quarantine.suspect(did, reason)
        return DidQuarantined(details={"did": did})

    def keep(self, did: str, head: IndexedVersion, *, is_folded: bool) -> None:
        """Cache the checked head of the log of ``did``. ``is_folded`` is True also for an entry that this process appended to a log that
        it knows."""
        self._checked.store(did, Checked(head, is_folded))


def _is_same(one: IndexedVersion, other: IndexedVersion) -> bool:
    return one.receipt == other.receipt and one.state.version_id == other.state.version_id


def _is_entry(version: IndexedVersion, line: LedgerEntry) -> bool:
    return _is_newest(version, NewestEntry(line.version, line.receipt.transaction_hash))


def _is_newest(version: IndexedVersion, entry: NewestEntry) -> bool:
    """Return whether the row belongs to this entry. The block is not compared: if a ledger's blocks can be undone, an entry may move to
    another block."""
    if version.receipt is None or version.state.version_id != entry.version:
        return False
    return version.receipt.transaction_hash == entry.transaction_hash
