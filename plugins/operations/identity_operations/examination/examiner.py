"""The comparison of everything that an open installation stores with the data from which it follows. It changes nothing.

A deep examination reads every entry once, with its chain in the ledger, its place in the tree of the transparency log, and its row
in the document index. The tree is compared with the separately stored checkpoint, which the service's key signed. So entries under
it are, byte by byte, those that were verified when they were appended. Later entries are folded by their DID method, with every
signature. This proves as much as verifying every signature again, as `identity ledger audit --logs` does, at a fraction of the
cost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import Final, Literal

from identity_records.audit import ChainHead, audit_of
from identity_records.chain import ChainBroken, check_kept, follow, require_line
from identity_transparency.domain.audit import Audit
from identity_transparency.opening import checkpoint_keys
from identity_transparency.remembered import Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import ReadCheckpointKeys
from identity_transparency.use_cases.project import leaf_of
from identity_transparency.use_cases.storage import CheckStorage
from msgspec import Struct, field

from identity_core.database import DatabaseMismatch
from identity_core.errors import StorageMismatch
from identity_core.extension.declaration import RowRule
from identity_core.ports.custodian import Custodian
from identity_core.ports.ledger import ExaminableLedger, LedgerBackend, LedgerEntry
from identity_core.settings import StartError
from identity_core.store import Store
from identity_core.use_cases.dids.index_audit import IndexAudit
from identity_operations.examination.rows import Finding, StoreExamination, place_sum
from identity_tlog.note import Checkpoint
from identity_tlog.tiles import levels_of, tiles_of
from identity_tlog.tree import HASH_BYTES, Frontier, Malformed

PAGE: Final = 256
# What a look that is not deep reads of each end.
NEWEST: Final = 8 * PAGE
SETTLED_SECONDS: Final = 1.0
PENDING: Final = 1_024
MOST: Final = 1_000
# A fold of each takes some 0.2 ms.
MOST_UNVOUCHED: Final = 10_000

_BACKUP: Final = "keep the broken files, put a backup back (`identity backup restore`), and find out who had access"
_AUDIT: Final = "keep it as it is and find out who had access; then `identity audit rekey` takes it as it is"
_INDEX: Final = "`identity fsck --repair-index` writes it anew from the ledger"
REMEDIES: Final = {
    "ledger": _BACKUP,
    "log": _BACKUP,
    "storage": f"{_BACKUP}; where this is the backup that you want, `identity ledger accept-rollback`",
    "tile": _INDEX,
    "index": _INDEX,
    "audit": _AUDIT,
    "orphan": "nothing is served by it; put a backup back where it should be whole",
    "status": "put a backup back; until then proofs with the credential may say what is not so",
}


class Examiner(Struct):
    """One examination of open parts. ``rules`` are those of extensions. ``kept`` is the separately stored checkpoint. ``advance``
    is called with the number of entries since its last call."""

    ledger: LedgerBackend
    store: Store
    custodian: Custodian
    methods: Collection[str]
    examination: StoreExamination
    check: CheckStorage
    index_audit: IndexAudit
    rules: Sequence[RowRule] = ()
    kept: Remembered | None = None
    deep: bool = False
    advance: Callable[[int], object] = lambda entries: None
    findings: list[Finding] = field(default_factory=list)
    entries: int = 0
    _suspects: list[LedgerEntry] = field(default_factory=list)

    @property
    def _tree(self) -> TransparencyTree:
        return TransparencyTree(self.store.database)

    async def __call__(self) -> None:
        """Examine everything. Raises what the ports raise."""
        self.entries = (await self.ledger.head()).sequence
        await self._ledger_chains()
        try:
            frontier = await self._tree.frontier()
        except DatabaseMismatch as error:
            self.report("tile", "transparency_head", error.reason)
            await self._entries_of_log(Frontier())
        else:
            await self._storage()
            await self._entries_of_log(frontier)
        await self._settled_index()
        for fault in [
            *await self.examination.behind((await self.ledger.head()).sequence),
            *await self.examination.withheld(),
            *await self.examination.broken(self.rules),
        ]:
            self.report(fault.kind, fault.where, fault.says, fault.remedy)
        await self._audit_log()
        await self._unvouched()

    def report(self, kind: str, where: str, says: str, remedy: str = "") -> None:
        """Add a finding, at most ``MOST``, because more would have one cause."""
        if len(self.findings) < MOST:
            self.findings.append(Finding(kind, where, says, remedy or REMEDIES[kind]))

    async def _storage(self) -> None:
        try:
            await self.check.projections()
            if self.kept is not None:
                origin = self.kept.checkpoint.origin
                read = ReadCheckpointKeys(self.custodian, self.ledger, self._tree, origin)
                await self.check.remembered(self.kept, await checkpoint_keys(read))
                await require_line(audit_of(self.store), self.kept.audit_lines, self.kept.audit_link)
        except StorageMismatch as error:
            self.report("storage", "the databases", str(error))
        except StartError as error:
            self.report("storage", error.where, error.what)

    async def _ledger_chains(self) -> None:
        if not isinstance(self.ledger, ExaminableLedger):
            return
        await self._chain(self.ledger, "entries", 0 if self.deep else max(self.entries - NEWEST, 0))
        await self._chain(self.ledger, "anchors", 0)

    async def _chain(self, ledger: ExaminableLedger, kind: Literal["entries", "anchors"], after: int) -> None:
        while True:
            seen = await ledger.examine(kind, after, PAGE)
            for says in seen.faults:
                self.report("ledger", f"ledger_{kind}", says)
            if seen.last == after:
                return
            after = seen.last

    async def _entries_of_log(self, frontier: Frontier) -> None:
        """Examine the index, and with ``deep`` tiles and places, along the ledger."""
        origin = await self._tree.origin()
        # After a crash the tree may be behind what is remembered; a start brings it up.
        held = (
            [self.kept.checkpoint] if self.kept is not None and 0 < self.kept.checkpoint.size <= frontier.size else []
        )
        audit = Audit(Checkpoint(origin, frontier.size, frontier.root), held)
        places, after = 0, 0 if self.deep else max(self.entries - NEWEST, 0)
        while lines := await self.ledger.entries_after(after, PAGE):
            self._suspects += await self._differing(lines)
            logged = [line for line in lines if line.receipt.sequence <= frontier.size]
            if self.deep and logged and audit.size == after:
                await self._feed(audit, logged)
                places += sum(place_sum(line.receipt.transaction_hash, line.receipt.sequence) for line in logged)
            after = lines[-1].receipt.sequence
            self.advance(len(lines))
        if self.deep:
            await self._close(audit, frontier.size, places)

    async def _feed(self, audit: Audit, lines: Sequence[LedgerEntry]) -> None:
        """Feed the tree up to the first gap, because all later entries would be in another place."""
        number, start = audit.size // PAGE, audit.size + 1
        tile = (await self._tree.tiles([(0, number)])).get((0, number), b"")
        if [line.receipt.sequence for line in lines] != list(range(start, start + len(lines))):
            self.report("ledger", f"entries from {start}", "one of them is missing")
            return
        try:
            leaves = [leaf_of(line).encode() for line in lines]
        except Malformed as error:
            self.report("ledger", f"entries from {start}", str(error))
            return
        # A running service has added to the last tile since.
        audit.feed(leaves, tile[: HASH_BYTES * len(leaves)])

    async def _close(self, audit: Audit, size: int, places: int) -> None:
        if audit.size == size:
            for level in range(1, levels_of(size)):
                for tile in tiles_of(size, level):
                    data = (await self._tree.tiles([(level, tile.number)])).get((level, tile.number), b"")
                    audit.compare_tile(tile, data[: HASH_BYTES * tile.width])
        audit.close()
        # Entries and tiles agree, also with what is remembered: then it is the head of the tree that does not.
        is_head = [one.kind for one in audit.findings] == ["root"]
        for one in audit.findings:
            kind = "tile" if is_head or one.kind == "tile" else "ledger"
            self.report(kind, "transparency_head" if is_head else one.where, one.says)
        count, total = await self.examination.places()
        if count == size and total != places:
            self.report("tile", "transparency_places", "transactions are not found at the places where they are")
        elif count < size:
            self.report("tile", "transparency_places", f"there are {count} places of {size} transactions")

    async def _differing(self, lines: Sequence[LedgerEntry]) -> list[LedgerEntry]:
        """Return those of ``lines`` whose row in the index differs or is missing. The newest may have no row yet, after a crash or
        in a copy that was made between entry and row. A start adds it."""
        faults = await self.examination.index(lines, self._unread(lines))
        if not faults:
            return []
        newest = await self.examination.newest()
        settled = max(newest, self.entries - PENDING) if newest else 0
        return [line for line in lines if line.receipt.sequence in faults and not 0 < settled < line.receipt.sequence]

    def _unread(self, lines: Sequence[LedgerEntry]) -> set[str]:
        return {line.did for line in lines if line.did.split(":", 2)[1] not in self.methods}

    async def _settled_index(self) -> None:
        """Report the differences that remain after a moment, because a running service writes the row after the entry."""
        if self._suspects:
            await asyncio.sleep(SETTLED_SECONDS)
        for line in self._suspects[:MOST]:
            for fault in (await self.examination.index([line], self._unread([line]))).values():
                self.report("index", fault.where, fault.says)

    async def _audit_log(self) -> None:
        log = audit_of(self.store)
        head = await log.head()
        if head is None:
            last = await log.chain(after=0, limit=1)
            if last:
                self.report(
                    "audit", "audit_head", "it was not made by the keys of this installation: the end may be cut off"
                )
            return
        at, end = await log.cut(), head.head.sequence
        if not self.deep and end > NEWEST:
            before = await log.chain(after=end - NEWEST - 1, limit=1)
            if before and before[0].sequence == end - NEWEST:
                at = ChainHead(before[0].sequence, before[0].link)
        try:
            while at.sequence < end and (
                lines := await log.chain(after=at.sequence, limit=min(PAGE, end - at.sequence))
            ):
                at = follow(at, lines)
            check_kept(at, head)
        except ChainBroken as error:
            self.report("audit", "audit_lines", str(error))
            return
        # Lines are chained to the head: one that stands behind it is not of the service, unless that has moved on.
        if await log.chain(after=end, limit=1):
            now = await log.head()
            if now is None or now.head.sequence <= end:
                self.report("audit", "audit_lines", f"line {end + 1} was not written by this service")

    async def _unvouched(self) -> None:
        """Verify every signature in the logs of entries that no stored checkpoint covers."""
        size = 0 if self.kept is None else self.kept.checkpoint.size
        if not self.deep or self.kept is None or self.entries - size > MOST_UNVOUCHED:
            return
        while lines := await self.ledger.entries_after(size, PAGE):
            for did in sorted({line.did for line in lines} - self._unread(lines)):
                for says in await self.index_audit.differences(did):
                    self.report("index" if says.startswith("version") else "log", did, says)
            size = lines[-1].receipt.sequence
