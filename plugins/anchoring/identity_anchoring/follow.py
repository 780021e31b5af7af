"""Steps of batches and revocations on a ledger: submission, polling of their progress, and rechecks of final ones.

A ledger may undo more blocks than its confirmations cover. Each recheck covers the newest batches and revocations, and a page of
the older ones. Below an undone one, it continues until a whole page is unchanged, because those below may have been undone too and
return later.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final, Generic, TypeVar

from msgspec import Struct, field

from identity_anchoring.batches import AnchoringPolicy, AnchorLeaf, Batch, BatchState, LeaseLost, RevokedLeaf
from identity_anchoring.figures import Figures
from identity_anchoring.outbox import StoredOutbox
from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.domain.activity import DONE, REFUSED, SERVICE, Event, RequestContext
from identity_core.domain.proofs.stored import AnchorStatus
from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import AnchoringLedger, AnchorTransaction
from identity_core.use_cases.record import Record

AT_ONCE: Final = 256
MOST_UNANSWERED: Final = 3
"""After so many batches that could not be asked about, the rest is left to the next round: each may take a whole deadline."""

log = logging.getLogger("identity")


class FollowBatches(Struct):
    """The polling of undecided batches. If the ledger is unreachable, nothing is abandoned, and the batch shows the reason."""

    outbox: StoredOutbox
    ledger: AnchoringLedger
    record: Record
    figures: Figures
    clock: Clock
    policy: AnchoringPolicy
    _not_before: dict[int, float] = field(default_factory=dict)

    async def __call__(self) -> None:
        """Check the undecided batches. Raises ``LeaseLost``."""
        unanswered = 0
        for batch in await self.outbox.undecided(self.ledger.anchor_ledger_name):
            if self._not_before.get(batch.id, float("-inf")) > self.clock.monotonic():
                continue
            try:
                told = await self.report(batch)
            except IdentityError as error:
                unanswered += 1
                told = replace(batch, reason=f"the ledger cannot be asked: {error.code}")
            await self.store(batch, told)
            if unanswered >= MOST_UNANSWERED:
                break

    async def report(self, batch: Batch) -> Batch:
        """Return the batch as the ledger has it now. Raises ``LedgerUnavailable``."""
        if batch.state is BatchState.SEALED:
            told = await self.ledger.submit_anchor(batch.root, batch.size)
        else:
            known = await self.ledger.anchor_status(batch.root)
            if known is None:
                return batch.forgotten()
            told = known
        return batch.after_report(
            BatchState(told.state),
            told.transaction_hash,
            told.block_number,
            told.reason,
            most_attempts=self.policy.most_attempts,
        )

    async def store(self, before: Batch, after: Batch) -> None:
        """Store the report. Raises ``LeaseLost``."""
        self._not_before.pop(before.id, None)
        if after.state is BatchState.SEALED and after.attempts > before.attempts:
            self._not_before[after.id] = self.clock.monotonic() + self.policy.retry_seconds
        if after == before:
            return
        now = self.clock.now()
        await self.outbox.advance(before, after, now)
        name = self.ledger.anchor_ledger_name
        self.figures.stepped(before, after, name)
        if after.anchor.status is not before.anchor.status or before.state is BatchState.CONFIRMED:
            # It need not be durable, because the batch that it tells of is.
            await self.record(RequestContext("anchorBatch", SERVICE), _event(after, name), now)


def _event(batch: Batch, ledger: str) -> Event:
    return Event(
        outcome=REFUSED if batch.anchor.status is AnchorStatus.FAILED else DONE,
        details={
            "batch": batch.id,
            "root": batch.root.hex(),
            "size": batch.size,
            "ledger": ledger,
            "status": batch.anchor.status.value,
            "txHash": batch.tx_hash,
            "blockNumber": batch.block_number,
        },
    )


class RevokeLeaves(Struct):
    """The polling of revocations under way, which is safe to repeat. A failed one begins again after ``retry_seconds``, without
    limit, because a revoked proof must not stay anchored."""

    outbox: StoredOutbox
    ledger: AnchoringLedger
    record: Record
    figures: Figures
    clock: Clock
    retry_seconds: float
    _not_before: dict[str, float] = field(default_factory=dict)

    async def __call__(self) -> None:
        """Check the revocations under way. Raises ``LeaseLost``, ``LedgerUnavailable``."""
        name = self.ledger.anchor_ledger_name
        for leaf in await self.outbox.revoking(name, AT_ONCE):
            told = await self._request(leaf)
            if told is not None and told.state == "confirmed" and told.block_number is not None:
                now = self.clock.now()
                await self.outbox.revoked(leaf, told.block_number, now)
                self.figures.revoked += 1
                await self._record(leaf, now, revokedBlock=told.block_number)

    async def block_of(self, leaf: AnchorLeaf) -> int | None:
        """Return the block with the revocation of the leaf; None if the ledger lacks it. Raises ``LedgerUnavailable``."""
        told = await self.ledger.revocation_status(leaf.commitment)
        return told.block_number if told is not None and told.state == "confirmed" else None

    async def undone(self, before: RevokedLeaf, block_number: int | None) -> None:
        """Store a change of ``block_of``. Raises ``LeaseLost``."""
        now = self.clock.now()
        await self.outbox.revocation_undone(before, block_number, now)
        self.figures.revocation_undone(before, block_number, self.ledger.anchor_ledger_name)
        await self._record(before.leaf, now, revokedBlock=block_number, undoneBlock=before.block_number)

    async def _record(self, leaf: AnchorLeaf, now: datetime, **blocks: JsonValue) -> None:
        event = Event(target=leaf.proof_id, details={"ledger": self.ledger.anchor_ledger_name, **blocks})
        await self.record(RequestContext("revokeAnchor", SERVICE), event, now)

    async def _request(self, leaf: AnchorLeaf) -> AnchorTransaction | None:
        told = await self.ledger.revocation_status(leaf.commitment)
        if told is not None and told.state != "failed":
            return told
        if told is not None:
            at = self._not_before.setdefault(leaf.proof_id, self.clock.monotonic() + self.retry_seconds)
            if self.clock.monotonic() < at:
                return None
            log.warning("the revocation of the anchor of %s failed: %s", leaf.proof_id, told.reason)
        self._not_before.pop(leaf.proof_id, None)
        return await self.ledger.revoke_leaf(leaf.commitment)


PAGE: Final = 16

T = TypeVar("T")
Correction = Callable[[], Awaitable[None]]


class _Unanswered(Exception):
    """An unreachable ledger."""


class RecheckFinal(Struct, Generic[T]):
    """The recheck of final batches or revocations.

    - ``page``: returns those after a given one, newest first.
    - ``correction``: queries the ledger about one, and returns the job that stores a change, or None.

    The place to continue is not stored, so a new process begins with the newest.
    """

    outbox: StoredOutbox
    clock: Clock
    page: Callable[[T | None, int], Awaitable[Sequence[T]]]
    correction: Callable[[T], Awaitable[Correction | None]]
    _below: T | None = None

    async def __call__(self) -> bool:
        """Return whether anything was undone. If the ledger does not answer, the next call continues there. Raises ``LeaseLost``."""
        was_undone = False
        try:
            newest = await self.page(None, PAGE)
            for one in newest:
                if await self._correct(one):
                    self._below, was_undone = one, True
            if self._below is None and len(newest) == PAGE:
                self._below = newest[-1]
            while self._below is not None and await self._next_page(self._below):
                was_undone = True
        except _Unanswered:
            pass
        return was_undone

    async def _next_page(self, below: T) -> bool:
        older = await self.page(below, PAGE)
        was_undone = False
        for one in older:
            was_undone = await self._correct(one) or was_undone
            self._below = one
        if len(older) < PAGE:
            self._below = None
        return was_undone

    async def _correct(self, one: T) -> bool:
        try:
            correct = await self.correction(one)
        except IdentityError as error:
            raise _Unanswered from error
        if correct is None:
            return False
        if not await self.outbox.hold(self.clock.now()):
            raise LeaseLost
        await correct()
        return True


def recheck_batches(follow: FollowBatches) -> RecheckFinal[Batch]:
    """Return whether confirmed batches still are, and in which block."""

    async def correction(batch: Batch) -> Correction | None:
        told = await follow.report(batch)
        return None if told.anchor == batch.anchor else partial(follow.store, batch, told)

    page = partial(follow.outbox.confirmed, follow.ledger.anchor_ledger_name)
    return RecheckFinal(follow.outbox, follow.clock, page, correction)


def recheck_revocations(revoke: RevokeLeaves) -> RecheckFinal[RevokedLeaf]:
    """Return whether the ledger still has the revocations of leaves, and in which block."""

    async def correction(revoked: RevokedLeaf) -> Correction | None:
        block_number = await revoke.block_of(revoked.leaf)
        return None if block_number == revoked.block_number else partial(revoke.undone, revoked, block_number)

    page = partial(revoke.outbox.revoked_leaves, revoke.ledger.anchor_ledger_name)
    return RecheckFinal(revoke.outbox, revoke.clock, page, correction)
