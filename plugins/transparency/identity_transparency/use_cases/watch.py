"""A check of the databases while the service runs, which also stores the last checkpoint apart from them.

Once a second it checks that the files are in place, that ledger, index and tree agree, and that they and the audit log continue
from the previous check. Anything else is a mismatch: all changes are refused (``api/security.py``) until a check succeeds.

On a server it reads the ends of ledger and audit log, and checks when one of them has moved or after ``REST_SECONDS``. The jobs
that follow the two rest as long, and are called when one has moved (``spare``). A job that follows only the log rests on every
database (``wake``).

The checkpoint is stored at most every ``every_seconds``, only when there is something new, and at an orderly stop. So after a
crash, only a rollback by less than that time is not detected. Everything in it is on the disk before it is written, so a crash
leaves databases ahead of it, never behind.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from identity_records.audit import GENESIS, AuditLines
from identity_records.chain import require_line

from identity_core.errors import IdentityError, StorageMismatch
from identity_core.ports.clock import Clock
from identity_core.use_cases.background import Repeating
from identity_core.use_cases.transparency import StorageWatch
from identity_tlog.tree import Frontier
from identity_transparency.remembered import CheckpointFile, Remembered
from identity_transparency.use_cases.project import TransparencyLog
from identity_transparency.use_cases.storage import CheckStorage

QUIET_SECONDS = 2.0
REST_SECONDS = 60.0

log = logging.getLogger("identity")


@dataclass(slots=True)
class WatchStorage(Repeating, StorageWatch):
    """The periodic check of the databases.

    - ``mismatch``: the finding of the last check, or None.
    - ``clock_fault``: returns why the clock allows no changes, or None.
    - ``unremembered``: why the last checkpoint could not be stored; empty if it was.
    """

    complaint: ClassVar[str] = "ALARM: nothing vouches for the databases"

    check: CheckStorage
    log: TransparencyLog
    audit: AuditLines
    memory: CheckpointFile
    every_seconds: float
    clock: Clock
    clock_fault: Callable[[], IdentityError | None] = lambda: None
    mismatch: StorageMismatch | None = field(default=None, init=False)
    unremembered: str = field(default="", init=False)
    _resting: Sequence[Repeating] = field(default=(), init=False)
    _woken: Repeating | None = field(default=None, init=False)
    _ends: object = field(default=None, init=False)
    _noted: object = field(default=None, init=False)
    _look_at: float = field(default=0.0, init=False)
    _tree: Frontier = field(default=Frontier(), init=False)
    _audit: tuple[int, bytes] = field(default=(0, GENESIS), init=False)
    _written: tuple[int, int] = field(default=(-1, -1), init=False)
    _next: float = field(default=0.0, init=False)

    async def step(self) -> float | None:
        try:
            is_moved = await self._look_where_due()
        except StorageMismatch as error:
            self.mismatch = error
            raise
        self.mismatch = None
        if self.clock.monotonic() >= self._next and (not self._resting or self._ends != self._noted):
            self._next = self.clock.monotonic() + self.every_seconds
            await self.remember()
            self._noted = None if self.unremembered else self._ends
        return None if is_moved else QUIET_SECONDS

    async def _look_where_due(self) -> bool:
        """Check the databases if that is due. Return whether the end of the ledger or of the audit log has moved, or may have:
        files are checked each time."""
        ends = (await self.check.ledger.head(), await self.audit.last()) if self._resting else object()
        if is_moved := ends != self._ends:
            for one in self._resting:
                one.called.notify()
        if is_moved or self.mismatch is not None or self.clock.monotonic() >= self._look_at:
            await self.look()
            self._ends, self._look_at = ends, self.clock.monotonic() + REST_SECONDS
        return is_moved

    def weakness(self) -> str:
        """Return why a rollback might not be detected."""
        return self.unremembered or self.fault

    @property
    def log_size(self) -> int:
        """Return the number of entries in the log at the last check."""
        return self._tree.size

    def hold_up(self, *others: Repeating | None) -> None:
        """Stop other writing jobs from their steps during a mismatch."""
        for other in filter(None, others):
            other.hindrance = lambda: self.mismatch or self.clock_fault()

    def spare(self, *others: Repeating | None) -> None:
        """Check a server only after a change, and let ``others`` rest until then."""
        self._resting = [*self._resting, *filter(None, others)]
        for one in self._resting:
            one.rest_seconds = REST_SECONDS

    def wake(self, other: Repeating) -> None:
        """Let ``other`` rest until the log has grown, at most ``REST_SECONDS``."""
        self._woken, other.rest_seconds = other, REST_SECONDS

    async def look(self) -> None:
        """Check the databases. Raises ``StorageMismatch``, and what the ports raise."""
        self.audit.require_in_place()
        await self.check.projections()
        tree = await self.log.follower.now()
        if tree != self._tree:
            await self.check.tree_of(self._tree.size, self._tree.root)
            if self._woken is not None:
                self._woken.called.notify()
        await require_line(self.audit, *self._audit)
        self._tree = tree

    async def remember(self) -> None:
        """Store the ends of ledger and audit log, if they are new."""
        news = await self.audit.chain(after=self._audit[0], limit=1)
        if (self._tree.size, self._audit[0]) == self._written and not news:
            return
        self._audit = await self.audit.settled()
        remembered = Remembered(await self.log.signer.signed(self._tree), *self._audit)
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
        """Store the last state, unless there is a mismatch."""
        await Repeating.close(self)
        try:
            await self.look()
            await self.remember()
        except IdentityError as error:
            log.error("the last checkpoint is not remembered: %s", error)
