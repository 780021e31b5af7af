"""The worker: one loop in every server process, or alone as ``identity anchor worker``; whoever holds the lease works.

No queue library: the work is a table. An idle worker writes nothing and reads a glance a second, and every five seconds what is final
(``recheck``). Whatever dies on the way, the next one goes on where the tables say (research/ledger.md §5.5).
"""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Final

from identity_core.domain.anchoring import Batch, is_due
from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.ports.outbox import AnchorOutbox, LeaseLost, RevokedLeaf, Work
from identity_core.use_cases.anchoring.follow import FollowBatches
from identity_core.use_cases.anchoring.policy import AnchoringPolicy
from identity_core.use_cases.anchoring.recheck import RecheckFinal, recheck_batches, recheck_revocations
from identity_core.use_cases.anchoring.revoke_leaves import RevokeLeaves
from identity_core.use_cases.anchoring.seal import SealBatch
from identity_core.use_cases.anchoring.wakeup import Wakeup, awaited
from identity_core.use_cases.background import Repeating

IDLE_SECONDS: Final = 1.0
BUSY_SECONDS: Final = 0.2
RECHECK_SECONDS: Final = 5.0

log = logging.getLogger("identity")


@dataclass(slots=True)
class AnchorWorker(Repeating):
    """``called`` wakes it out of idleness, ``news`` tells those who wait that receipts may have changed."""

    complaint = "anchoring does not get on"
    interval_seconds = IDLE_SECONDS

    outbox: AnchorOutbox
    seal: SealBatch
    follow: FollowBatches
    revoke: RevokeLeaves
    clock: Clock
    policy: AnchoringPolicy
    called: Wakeup = field(default_factory=Wakeup)
    news: Wakeup = field(default_factory=Wakeup)
    _rechecks: tuple[RecheckFinal[Batch], RecheckFinal[RevokedLeaf]] = field(init=False)
    _checked_at: float = field(default=float("-inf"), init=False)

    def __post_init__(self) -> None:
        self._rechecks = recheck_batches(self.follow), recheck_revocations(self.revoke)

    @property
    def fault(self) -> str:
        """Why it does not get on; empty when it does."""
        # By name: a slotted dataclass is made anew, and a bare super() would still mean the class before.
        return super(AnchorWorker, self).fault or self.follow.journal.figures.trouble

    async def close(self) -> None:
        """Stops it and lets go of the lease; the next worker does the rest."""
        await super(AnchorWorker, self).close()
        if self._task is not None:
            try:
                await self.outbox.release()
            except IdentityError as error:
                log.warning("the lease of anchoring runs out by itself: %s", error)

    async def run(self) -> None:
        """Works until it is cancelled."""
        while True:
            change = self.called.next_change()
            seconds = await self.guarded()
            if seconds >= IDLE_SECONDS:
                await awaited(change, seconds)
            else:
                await asyncio.sleep(seconds)

    async def step(self) -> float:
        try:
            return await self.round()
        except LeaseLost:
            return BUSY_SECONDS

    async def round(self) -> float:
        """Does what can be done now; how many seconds later there may be more. Raises ``LeaseLost`` and what the outbox and the
        ledger raise."""
        await self._recheck()
        work = await self._look()
        if work.is_none:
            return IDLE_SECONDS
        if not await self.outbox.hold(self.clock.now()):
            return BUSY_SECONDS
        while self._is_due(work) and await self.seal() is not None:
            await self.follow()
            self.news.notify()
            work = await self._look()
            await self.outbox.hold(self.clock.now())
        await self.follow()
        await self.revoke()
        self.news.notify()
        left = await self._look()
        if left.is_none:
            await self.outbox.release()
            return IDLE_SECONDS
        return BUSY_SECONDS if left.undecided or left.revoking else self._until_due(left)

    async def _look(self) -> Work:
        work = await self.outbox.work(self.seal.ledger_name)
        self.follow.journal.figures.saw(work, self.clock.now())
        return work

    def _is_due(self, work: Work) -> bool:
        policy = self.policy
        return is_due(
            work.waiting, work.oldest, self.clock.now(), batch_size=policy.batch_size, seal_after=policy.seal_after
        )

    def _until_due(self, work: Work) -> float:
        if work.oldest is None:
            return BUSY_SECONDS
        left = (work.oldest + self.policy.seal_after - self.clock.now()).total_seconds()
        return min(max(left, 0.001), BUSY_SECONDS)

    async def _recheck(self) -> None:
        """Whether what was confirmed still is, now and then."""
        if self.clock.monotonic() < self._checked_at + RECHECK_SECONDS:
            return
        self._checked_at = self.clock.monotonic()
        for recheck in self._rechecks:
            if await recheck():
                # The round takes it anew if it has anything to do.
                await self.outbox.release()
                self.news.notify()
