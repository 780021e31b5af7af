"""Brings the document index up to the ledger: at every start, and while the service runs."""

from __future__ import annotations

import asyncio
import logging
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
INTERVAL_SECONDS = 1.0

log = logging.getLogger("identity")


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
    """Catches up in the background with what stays on the ledger without a row in the index: a disk was full, a process died in
    between, or an append whose outcome nobody knew went through after all (a failover, a chain that took its time).

    A writer's row follows its entry, so an entry counts as missing when it was there at one look and is still not in the
    index at the next.
    """

    catch_up: CatchUp
    _seen: int = 0
    _fault: str = ""
    _task: asyncio.Task[None] | None = field(default=None)

    def begin(self) -> None:
        """Starts looking."""
        self._task = asyncio.create_task(self._repeat())

    async def close(self) -> None:
        """Stops; the next start does the rest."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def look(self) -> int:
        """One look; how many entries were indexed."""
        is_behind = await self.catch_up.index.cursor() < self._seen
        done = await self.catch_up() if is_behind else 0
        self._seen = (await self.catch_up.ledger.head()).sequence
        return done

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL_SECONDS)
            try:
                await self.look()
                self._fault = ""
            except IdentityError as error:
                # Once for each new reason: it is tried again every second.
                if str(error) != self._fault:
                    log.error("the document index does not follow the ledger: %s %s", error, error.details)
                self._fault = str(error)
