"""Brings the document index up to the ledger: after a crash between append and index, and at every start."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from identity_core.domain import history
from identity_core.domain.did import Did
from identity_core.domain.errors import IdentityError
from identity_core.domain.history import DidState
from identity_core.ports.did_method import DidMethod
from identity_core.ports.ledger import LedgerBackend
from identity_core.ports.repositories import DocumentIndex, IndexedVersion

PAGE = 500
RETRY_SECONDS = 1.0


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
class IndexRepair:
    """Catches up in the background after an entry was recorded and its row in the index was not (disk full, overload): what is on
    the ledger must not stay invisible until the next start. Tries again every second until it is done."""

    catch_up: CatchUp
    _task: asyncio.Task[None] | None = field(default=None)

    def begin(self) -> None:
        """Starts, unless it is under way."""
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._repeat())

    async def close(self) -> None:
        """Stops; the next start does the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(RETRY_SECONDS)
            try:
                await self.catch_up()
            except IdentityError:
                continue
            return
