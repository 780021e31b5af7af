"""Brings the document index up to the ledger: at every start, and while the service runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from identity_core.domain import history
from identity_core.domain.did import Did
from identity_core.domain.history import DidState
from identity_core.ports.did_method import DidMethod
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import DocumentIndex, IndexedVersion
from identity_core.use_cases.background import Repeating

PAGE = 500


@dataclass(frozen=True, slots=True)
class CatchUp:
    """Folds every ledger entry behind the index's cursor. Raises ``LogInvalid`` when the ledger holds what no method
    accepts: somebody wrote around the service, and going on would hide it."""

    methods: Mapping[str, DidMethod]
    ledger: LedgerBackend
    index: DocumentIndex

    async def __call__(self) -> int:
        """How many entries were indexed."""
        done = 0
        cursor = await self.index.cursor()
        while lines := await self.ledger.entries_after(cursor, PAGE):
            states: dict[str, DidState | None] = {}
            versions = []
            for line in lines:
                if line.did not in states:
                    known = await self.index.version(line.did, line.version - 1) if line.version > 1 else None
                    states[line.did] = known.state if known else None
                before = states[line.did]
                after = self.methods[Did.parse(line.did).method].apply(before, line.entry)
                versions.append(IndexedVersion(after, line.receipt, history.changes(before, after), after.key_id))
                states[line.did] = after
            await self.index.record(versions)
            cursor = lines[-1].receipt.sequence
            done += len(lines)
        return done


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
