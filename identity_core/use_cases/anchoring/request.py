"""The installation's choices about batches.

What the operations on proofs see of anchoring: a receipt, at once or when it is decided.

Revoking leaves on the ledger, one by one: the others of their batch are not touched.

Bringing in proofs from before anchoring existed, with the status ``pre-phase7``. They are kept, shown and verified like others;
nothing anchors them unless an operator has them backfilled.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final

from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.activity import SERVICE, Event, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.ledger.anchoring import Anchor, AnchorStatus, is_due
from identity_core.domain.proofs.stored import IMPORTED, MAX_SYNC_WAIT_MS, StoredProof
from identity_core.errors import IdentityError
from identity_core.ports.anchoring import AnchorLeaf, AnchorOutbox, RevokedLeaf, Work
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import AnchoringLedger, AnchorTransaction
from identity_core.ports.proofs import Proofs
from identity_core.use_cases.anchoring.figures import Figures
from identity_core.use_cases.background import Wakeup, awaited
from identity_core.use_cases.record import Record


@value_class
class AnchoringPolicy:
    """A batch is sealed at ``batch_size`` leaves or when its oldest has waited for ``seal_after``; what the ledger reports as failed is
    tried ``most_attempts`` times, ``retry_seconds`` apart."""

    batch_size: int
    seal_after: timedelta
    most_attempts: int
    retry_seconds: float

    def is_due(self, work: Work, now: datetime) -> bool:
        """Return whether a batch is to be sealed at ``now``."""
        return is_due(work.waiting, work.oldest, now, batch_size=self.batch_size, seal_after=self.seal_after)


MOST_WAITERS: Final = 256
POLL_SECONDS: Final = 0.2
"""The worker may be in another process, whose notices do not arrive here."""

_PENDING: Final = Anchor(AnchorStatus.PENDING, None, None, None)


@dataclass(slots=True)
class ProofAnchoring:
    """See ``Anchoring`` and ``AnchorRevocation``. Rows are already written when it is asked: it only wakes the worker, and waits. More
    than ``most_waiters`` at a time get their answer at once."""

    outbox: AnchorOutbox
    enabled: bool
    called: Wakeup
    news: Wakeup
    most_waiters: int = MOST_WAITERS
    _waiting: int = field(default=0)

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        self.called.notify()
        if wait_ms <= 0:
            return _PENDING
        decided = {AnchorStatus.CONFIRMED, AnchorStatus.FAILED, AnchorStatus.REVOKED}
        try:
            found = await self._wait(proof_id, wait_ms, lambda status: status in decided)
        except IdentityError:
            # The proof and its place in the outbox are stored; that the receipt cannot be read now changes neither.
            found = None
        return found or _PENDING

    async def revoke(self, proof_id: str, wait_ms: int) -> Anchor | None:
        self.called.notify()
        over = {AnchorStatus.REVOKED, AnchorStatus.FAILED, AnchorStatus.PRE_PHASE7}
        return await self._wait(proof_id, wait_ms, lambda status: status in over)

    async def _wait(self, proof_id: str, wait_ms: int, is_over: Callable[[AnchorStatus], bool]) -> Anchor | None:
        if self._waiting >= self.most_waiters:
            wait_ms = 0
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(wait_ms, MAX_SYNC_WAIT_MS) / 1000
        self._waiting += 1
        try:
            while True:
                change = self.news.next_change()
                receipt = await self.outbox.receipt(proof_id)
                left = deadline - loop.time()
                if receipt is None or is_over(receipt.status) or left <= 0:
                    return receipt
                await awaited(change, min(left, POLL_SECONDS))
        finally:
            self._waiting -= 1


AT_ONCE = 256

log = logging.getLogger("identity")


@dataclass(slots=True)
class RevokeLeaves:
    """Asks for every revocation that is on the way, which is safe to do again; one that failed is begun anew after
    ``retry_seconds``, for ever: a proof that was taken back must not stay anchored."""

    outbox: AnchorOutbox
    ledger: AnchoringLedger
    record: Record
    figures: Figures
    clock: Clock
    retry_seconds: float
    _not_before: dict[str, float] = field(default_factory=dict)

    async def __call__(self) -> None:
        """Raises ``LeaseLost``, ``LedgerUnavailable``."""
        name = self.ledger.anchor_ledger_name
        for leaf in await self.outbox.revoking(name, AT_ONCE):
            told = await self._asked(leaf)
            if told is not None and told.state == "confirmed" and told.block_number is not None:
                now = self.clock.now()
                await self.outbox.revoked(leaf, told.block_number, now)
                self.figures.revoked += 1
                await self._record(leaf, now, revokedBlock=told.block_number)

    async def block_of(self, leaf: AnchorLeaf) -> int | None:
        """The block in which the ledger has its revocation; None when it does not have it. Raises ``LedgerUnavailable``."""
        told = await self.ledger.revocation_status(leaf.commitment)
        return told.block_number if told is not None and told.state == "confirmed" else None

    async def undone(self, before: RevokedLeaf, block_number: int | None) -> None:
        """Stores that ``block_of`` is another than before. Raises ``LeaseLost``."""
        now = self.clock.now()
        await self.outbox.revocation_undone(before, block_number, now)
        self.figures.revocation_undone(before, block_number, self.ledger.anchor_ledger_name)
        await self._record(before.leaf, now, revokedBlock=block_number, undoneBlock=before.block_number)

    async def _record(self, leaf: AnchorLeaf, now: datetime, **blocks: JsonValue) -> None:
        event = Event(target=leaf.proof_id, details={"ledger": self.ledger.anchor_ledger_name, **blocks})
        await self.record(RequestContext("revokeAnchor", SERVICE), event, now)

    async def _asked(self, leaf: AnchorLeaf) -> AnchorTransaction | None:
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


@value_class
class ImportProofs:
    """Brings in proofs of before anchoring."""

    proofs: Proofs
    record: Record
    clock: Clock

    async def __call__(self, proofs: Sequence[StoredProof]) -> int:
        """How many were not there before. All of them or none are brought in."""
        count = await self.proofs.bring_in(proofs)
        event = Event(details={"given": len(proofs), "imported": count})
        await self.record(RequestContext("importProofs", Caller(name=IMPORTED)), event, self.clock.now(), durable=True)
        return count
