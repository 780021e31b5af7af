"""The ledger's own log, as it goes into a batch.

What the operator learns of anchoring: audit lines of batches, alarms in the log, and figures. The timeline's events are written with
the receipts themselves (``AnchorOutbox.advance``).
"""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime

from identity_core.domain.activity import DONE, REFUSED, Event
from identity_core.domain.ledger.anchoring import AnchorStatus, Batch, BatchState
from identity_core.domain.ledger.note import Checkpoint
from identity_core.errors import IdentityError, JsonValue
from identity_core.ports.anchoring import AnchorLeaf, RevokedLeaf, Work
from identity_core.use_cases.ledger.project import LedgerFollower
from identity_core.use_cases.record import Record


@dataclass(frozen=True, slots=True)
class NewestCheckpoint:
    """``origin`` is the log's name. What is anchored is the body, the text that is signed: its signature may be made at any time."""

    follower: LedgerFollower
    origin: str

    async def __call__(self) -> bytes | None:
        """The body; None for an empty log, and while it does not follow its ledger, which the follower reports."""
        try:
            frontier = await self.follower.now()
        except IdentityError:
            return None
        return Checkpoint(self.origin, frontier.size, frontier.root).text.encode() if frontier.size else None


log = logging.getLogger("identity")


@dataclass(slots=True)
class Figures:
    """What this process knows and did: gauges of the outbox as it last saw it, and counts since its start."""

    waiting: int = 0
    undecided: int = 0
    revoking: int = 0
    oldest_seconds: float = 0.0
    trouble: str = ""
    confirmed: int = 0
    failed: int = 0
    reopened: int = 0
    revoked: int = 0

    def saw(self, work: Work, now: datetime) -> None:
        """Notes the state of the outbox."""
        self.waiting, self.undecided, self.revoking = work.waiting, work.undecided, work.revoking
        self.trouble = work.trouble
        self.oldest_seconds = 0.0 if work.oldest is None else max(0.0, (now - work.oldest).total_seconds())


@dataclass(frozen=True, slots=True)
class AnchorJournal:
    """Writes lines; they need not be durable, because the batches that they tell of are."""

    record: Record
    figures: Figures = field(default_factory=Figures)

    async def stepped(self, before: Batch, after: Batch, ledger: str, now: datetime) -> None:
        """A batch went a step, or waits for another reason than before."""
        if after.reason and after.reason != before.reason:
            log.warning("anchoring waits: batch %d is %s: %s", after.id, after.state.value, after.reason)
        if after.anchor.status is before.anchor.status and before.state is not BatchState.CONFIRMED:
            return
        if before.state is BatchState.CONFIRMED:
            self.figures.reopened += before.size
            log.error(
                "ALARM: the ledger %s undid block %s, in which batch %d of %d anchors was confirmed; %s",
                ledger,
                before.block_number,
                before.id,
                before.size,
                f"they are in block {after.block_number} now"
                if after.state is BatchState.CONFIRMED
                else "they are pending again",
            )
        elif after.state is BatchState.CONFIRMED:
            self.figures.confirmed += after.size
        elif after.state is BatchState.FAILED:
            self.figures.failed += after.size
            log.error("ALARM: batch %d of %d anchors failed: %s", after.id, after.size, after.reason)
        details: dict[str, JsonValue] = {
            "batch": after.id,
            "root": after.root.hex(),
            "size": after.size,
            "ledger": ledger,
            "status": after.anchor.status.value,
            "txHash": after.tx_hash,
            "blockNumber": after.block_number,
        }
        outcome = REFUSED if after.anchor.status is AnchorStatus.FAILED else DONE
        await self.record.own("anchorBatch", Event(outcome=outcome, details=details), now)

    async def revoked(self, leaf: AnchorLeaf, block_number: int, ledger: str, now: datetime) -> None:
        """The ledger has a revocation."""
        self.figures.revoked += 1
        details: dict[str, JsonValue] = {"ledger": ledger, "revokedBlock": block_number}
        await self.record.own("revokeAnchor", Event(target=leaf.proof_id, details=details), now)

    async def revocation_undone(
        self, before: RevokedLeaf, block_number: int | None, ledger: str, now: datetime
    ) -> None:
        """The block of a revocation is gone; ``block_number`` is where it is now, if it is anywhere."""
        self.figures.reopened += 1
        proof_id = before.leaf.proof_id
        log.error(
            "ALARM: the ledger %s undid block %d, in which the anchor of %s was revoked; %s",
            ledger,
            before.block_number,
            proof_id,
            "the revocation is on its way again" if block_number is None else f"that is in block {block_number} now",
        )
        details: dict[str, JsonValue] = {
            "ledger": ledger,
            "revokedBlock": block_number,
            "undoneBlock": before.block_number,
        }
        await self.record.own("revokeAnchor", Event(target=proof_id, details=details), now)
