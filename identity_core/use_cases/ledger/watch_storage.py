"""Watches the databases while the service runs, and remembers the last checkpoint apart from them.

Once a second it looks whether the files are still in place, whether ledger, index and tree agree, and whether they and the audit
log go on from where the look before saw them. Anything else is a mismatch: whatever would change something is refused
(``api/storage_gate.py``) until a look finds everything as it was.

What is remembered is written at most every ``every_seconds``, only when there is something new, and at an orderly stop. So after a
crash a rollback by less than that time goes unseen, and no other. Everything in it is on the disk before it is written: a crash leaves
databases that are ahead of it, never behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from identity_core.domain.audit_chain import GENESIS
from identity_core.domain.merkle.tree import Frontier
from identity_core.domain.remembered import Remembered
from identity_core.errors import IdentityError, StorageMismatch
from identity_core.ports.checkpoint_memory import AuditEnd, CheckpointMemory
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.ledger.check_storage import CheckStorage
from identity_core.use_cases.ledger.checkpoints import CheckpointSigner
from identity_core.use_cases.ledger.project import LedgerFollower

log = logging.getLogger("identity")


@dataclass(slots=True)
class WatchStorage(Repeating):
    """``mismatch`` is what the last look found, None when all was well. ``unremembered`` is why the last checkpoint could not be
    remembered, empty when it could."""

    complaint: ClassVar[str] = "ALARM: nobody can vouch for the databases"

    check: CheckStorage
    follower: LedgerFollower
    signer: CheckpointSigner
    audit_end: AuditEnd
    memory: CheckpointMemory
    every_seconds: float
    monotonic: Callable[[], float]
    mismatch: StorageMismatch | None = field(default=None, init=False)
    unremembered: str = field(default="", init=False)
    _tree: Frontier = field(default=Frontier(), init=False)
    _audit: tuple[int, bytes] = field(default=(0, GENESIS), init=False)
    _written: tuple[int, int] = field(default=(-1, -1), init=False)
    _next: float = field(default=0.0, init=False)

    async def step(self) -> float:
        try:
            await self.look()
        except StorageMismatch as error:
            self.mismatch = error
            raise
        self.mismatch = None
        if self.monotonic() >= self._next:
            self._next = self.monotonic() + self.every_seconds
            await self.remember()
        return self.interval_seconds

    def hold_up(self, *others: Repeating | None) -> None:
        """Keeps the others, who write too, from their steps while there is a mismatch."""
        for other in others:
            if other is not None:
                other.hindrance = lambda: self.mismatch

    async def look(self) -> None:
        """Raises ``StorageMismatch``, and what the ports raise."""
        self.audit_end.require_in_place()
        await self.check.projections()
        tree = await self.follower.now()
        if tree != self._tree:
            await self.check.tree_of(self._tree.size, self._tree.root)
        await self.check.audit_line(*self._audit)
        self._tree = tree

    async def remember(self) -> None:
        """Writes down how far ledger and audit log are, if that is news."""
        news = await self.check.audit.chain(after=self._audit[0], limit=1)
        if (self._tree.size, self._audit[0]) == self._written and not news:
            return
        self._audit = await self.audit_end.settled()
        remembered = Remembered(await self.signer.signed(self._tree), *self._audit)
        try:
            await asyncio.to_thread(self.memory.save, remembered)
        except OSError as error:
            if not self.unremembered:
                log.error("the last checkpoint cannot be remembered, and a rollback would go unseen: %s", error)
            self.unremembered = str(error)
            return
        self.unremembered = ""
        self._written = (self._tree.size, self._audit[0])

    async def close(self) -> None:
        """Remembers the end, unless there is something wrong with it."""
        await Repeating.close(self)
        try:
            await self.look()
            await self.remember()
        except IdentityError as error:
            log.error("the last checkpoint is not remembered: %s", error)
