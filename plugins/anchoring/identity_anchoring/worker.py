"""Sealing makes one tree of the waiting leaves, and stores its root and paths before it is submitted to a ledger.

So every receipt has its path as soon as it has a batch. After any crash, the same root is submitted again.

The worker: one loop in every server process, or alone as ``identity anchor worker``; the process that holds the lease works.

It needs no queue library, because the work is a table. An idle worker writes nothing. It reads the table once a second, and final
rows every five seconds (``recheck``). With a database server, it rests until ledger or audit log have moved
(``WatchStorage.spare``). After a crash the next worker continues from the rows of the tables.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from identity_transparency.use_cases.project import LedgerFollower
from msgspec import Struct

from identity_anchoring.batches import AnchoringPolicy, AnchorLeaf, Batch, LeaseLost, RevokedLeaf, Sealing, Work
from identity_anchoring.follow import FollowBatches, RecheckFinal, RevokeLeaves, recheck_batches, recheck_revocations
from identity_anchoring.outbox import StoredOutbox
from identity_codec.times import printed
from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.use_cases.background import Repeating, Wakeup
from identity_tlog.anchored import AnchorPath, checkpoint_commitment, root_and_paths
from identity_tlog.note import Checkpoint


class NewestCheckpoint(Struct, frozen=True):
    """The newest checkpoint of the log with the name ``origin``. Its body, the signed text, is anchored, because it can be signed
    at any time."""

    follower: LedgerFollower
    origin: str

    async def __call__(self) -> bytes | None:
        """Return the body; None for an empty log, and while the log does not agree with its ledger, which the follower reports."""
        try:
            frontier = await self.follower.now()
        except IdentityError:
            return None
        return Checkpoint(self.origin, frontier.size, frontier.root).text.encode() if frontier.size else None


class SealBatch(Struct):
    """The sealing of the oldest leaves, with the ledger's own checkpoint if it has changed since the last batch. A ledger that is
    anchored on another one cannot be rewritten undetected."""

    outbox: StoredOutbox
    ledger_name: str
    checkpoint: Callable[[], Awaitable[bytes | None]]
    clock: Clock
    batch_size: int
    _last: bytes | None = None

    async def __call__(self) -> Batch | None:
        """Return the batch; None when nothing waits. Raises ``LeaseLost``."""
        leaves = await self.outbox.queued(self.batch_size)
        if not leaves:
            return None
        text = await self.checkpoint()
        text = None if text == self._last else text
        now = self.clock.now()
        sealing = await asyncio.to_thread(_sealing, self.ledger_name, leaves, text, now)
        batch = await self.outbox.seal(sealing, now)
        if text is not None:
            self._last = text
        return batch


def _sealing(ledger: str, leaves: Sequence[AnchorLeaf], checkpoint: bytes | None, now: datetime) -> Sealing:
    commitments = [leaf.commitment for leaf in leaves]
    if checkpoint is not None:
        commitments.append(checkpoint_commitment(checkpoint))
    size = len(commitments)
    root, paths = root_and_paths(commitments)
    sealed_at = printed(now)
    details = [
        AnchorPath(ledger, root, index, size, tuple(path), sealed_at).encode() for index, path in enumerate(paths)
    ]
    own = None if checkpoint is None else (checkpoint, details[-1])
    return Sealing(ledger, root, size, {leaf.proof_id: told for leaf, told in zip(leaves, details, strict=False)}, own)


BUSY_SECONDS: Final = 0.2
RECHECK_SECONDS: Final = 5.0

log = logging.getLogger("identity")


@dataclass(slots=True)
class AnchorWorker(Repeating):
    """The worker of anchoring. ``called`` wakes it when it is idle. ``news`` signals to waiting requests that receipts may have
    changed."""

    complaint = "anchoring does not get on"

    outbox: StoredOutbox
    seal: SealBatch
    follow: FollowBatches
    revoke: RevokeLeaves
    clock: Clock
    policy: AnchoringPolicy
    news: Wakeup = field(default_factory=Wakeup)
    _rechecks: tuple[RecheckFinal[Batch], RecheckFinal[RevokedLeaf]] = field(init=False)
    _checked_at: float = field(default=float("-inf"), init=False)
    _is_caught_up: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._rechecks = recheck_batches(self.follow), recheck_revocations(self.revoke)

    @property
    def fault(self) -> str:
        """Return why the worker makes no progress; empty if it does."""
        # By name: a slotted dataclass is made anew, and a bare super() would still mean the class before.
        return super(AnchorWorker, self).fault or self.follow.figures.trouble

    async def close(self) -> None:
        """Stop the worker and release its lease. The next worker does the rest."""
        await super(AnchorWorker, self).close()
        if self._task is not None:
            try:
                await self.outbox.release()
            except IdentityError as error:
                log.warning("the lease of anchoring runs out by itself: %s", error)

    async def step(self) -> float:
        try:
            return await self.round()
        except LeaseLost:
            return BUSY_SECONDS

    async def round(self) -> float:
        """Do the work that is due. Return the seconds until more may be due. Raises ``LeaseLost`` and what the outbox and the
        ledger raise."""
        if not self._is_caught_up:
            await self.outbox.catch_up()
            self._is_caught_up = True
        await self._recheck()
        work = await self._look()
        if work.is_none:
            return self.interval_seconds
        if not await self.outbox.hold(self.clock.now()):
            return BUSY_SECONDS
        while self.policy.is_due(work, self.clock.now()) and await self.seal() is not None:
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
            return self.interval_seconds
        return BUSY_SECONDS if left.undecided or left.revoking else self._until_due(left)

    async def _look(self) -> Work:
        work = await self.outbox.work(self.seal.ledger_name)
        self.follow.figures.saw(work, self.clock.now())
        return work

    def _until_due(self, work: Work) -> float:
        if work.oldest is None:
            return BUSY_SECONDS
        left = (work.oldest + self.policy.seal_after - self.clock.now()).total_seconds()
        return min(max(left, 0.001), BUSY_SECONDS)

    async def _recheck(self) -> None:
        """Check now and then whether confirmed batches and revocations still are."""
        if self.clock.monotonic() < self._checked_at + RECHECK_SECONDS:
            return
        self._checked_at = self.clock.monotonic()
        for recheck in self._rechecks:
            if await recheck():
                # The round takes it anew if it has anything to do.
                await self.outbox.release()
                self.news.notify()
