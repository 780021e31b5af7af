"""Brings the document index up to the ledger: at every start, and while the service runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from identity_core.domain import history
from identity_core.domain.did import Did
from identity_core.domain.history import DidState
from identity_core.errors import DidQuarantined, IdentityError
from identity_core.ports.did_method import DidMethod
from identity_core.ports.ledger import LedgerBackend, LedgerEntry
from identity_core.ports.repositories import DocumentIndex, IndexedVersion
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.dids.head_check import HeadCheck

PAGE = 500


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Folds every ledger entry behind the index's cursor. A DID whose entries no method accepts, because somebody wrote around the
    service, or whose rows are not ours, is put under suspicion and passed over; all others go on."""

    methods: Mapping[str, DidMethod]
    ledger: LedgerBackend
    index: DocumentIndex
    check: HeadCheck

    async def __call__(self) -> int:
        """How many entries were indexed."""
        done = 0
        cursor = await self.index.cursor()
        while lines := await self.ledger.entries_after(cursor, PAGE):
            versions, withheld = await self._folded(lines)
            await self.index.record(versions)
            cursor = lines[-1].receipt.sequence
            if withheld:
                await self.index.pass_over(cursor)
            done += len(versions)
        return done

    async def _folded(self, lines: Sequence[LedgerEntry]) -> tuple[list[IndexedVersion], set[str]]:
        """The versions that the lines give, and the DIDs that are withheld."""
        states: dict[str, DidState] = {}
        versions: list[IndexedVersion] = []
        withheld: set[str] = set()
        for line in lines:
            if line.did in withheld:
                continue
            try:
                before = states.get(line.did) or await self._before(line)
                after = self._applied(before, line)
            except DidQuarantined:
                withheld.add(line.did)
                continue
            versions.append(IndexedVersion(after, line.receipt, history.changes(before, after), after.key_id))
            states[line.did] = after
        return versions, withheld

    def _applied(self, before: DidState | None, line: LedgerEntry) -> DidState:
        did = Did.parse(line.did)
        if did.method not in self.methods:
            # Its plugin is not loaded now, which is no reason to suspect anybody; ``HeadCheck`` brings it up when it is.
            raise DidQuarantined(details={"did": line.did})
        try:
            return self.methods[did.method].apply(before, line.entry)
        except IdentityError as error:
            reason = f"entry {line.version} of its log is not valid: {error}"
            self.check.quarantine.suspect(line.did, reason)
            raise DidQuarantined(details={"did": line.did}) from error

    async def _before(self, line: LedgerEntry) -> DidState | None:
        if line.version == 1:
            return None
        known = await self.index.version(line.did, line.version - 1)
        if known is not None:
            return known.state
        # Somebody took away rows from before the cursor.
        folded = await self.check.folded(Did.parse(line.did))
        await self.index.record(folded)
        if len(folded) < line.version:
            self.check.quarantine.suspect(line.did, f"entry {line.version} of its log has none before it")
            raise DidQuarantined(details={"did": line.did})
        return folded[line.version - 2].state


@dataclass(slots=True)
class IndexRepair(Repeating):
    """Catches up in the background with what stays on the ledger without a row in the index: a disk was full, a process died in
    between, or an append whose outcome nobody knew went through after all (a failover, a chain that took its time).

    A writer's row follows its entry, so an entry counts as missing when it was there at one look and is still not in the
    index at the next.
    """

    complaint = "the document index does not follow the ledger"

    catch_up: CatchUp
    _seen: int = field(default=0, init=False)

    async def step(self) -> float:
        await self.look()
        return self.interval_seconds

    async def look(self) -> int:
        """One look; how many entries were indexed."""
        is_behind = await self.catch_up.index.cursor() < self._seen
        done = await self.catch_up() if is_behind else 0
        self._seen = (await self.catch_up.ledger.head()).sequence
        return done
