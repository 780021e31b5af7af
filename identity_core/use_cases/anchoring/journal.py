"""What the operator learns of anchoring: audit lines of batches, alarms in the log, and figures. The timeline's events are written with
the receipts themselves (``AnchorOutbox.advance``)."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from identity_core.domain.anchor import AnchorStatus
from identity_core.domain.anchoring import Batch, BatchState
from identity_core.errors import JsonValue
from identity_core.ports.outbox import AnchorLeaf, RevokedLeaf, Work
from identity_core.ports.repositories import AuditLog, AuditRow

CALLER: Final = "service"

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

    audit: AuditLog
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
        outcome = "refused" if after.anchor.status is AnchorStatus.FAILED else "done"
        await self.audit.write(_row(now, "anchorBatch", None, outcome, details))

    async def revoked(self, leaf: AnchorLeaf, block_number: int, ledger: str, now: datetime) -> None:
        """The ledger has a revocation."""
        self.figures.revoked += 1
        details: dict[str, JsonValue] = {"ledger": ledger, "revokedBlock": block_number}
        await self.audit.write(_row(now, "revokeAnchor", leaf.proof_id, "done", details))

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
        await self.audit.write(_row(now, "revokeAnchor", proof_id, "done", details))


def _row(at: datetime, operation: str, target: str | None, outcome: str, details: dict[str, JsonValue]) -> AuditRow:
    return AuditRow(
        at=at,
        request_id="-",
        operation=operation,
        caller=CALLER,
        fingerprint=None,
        target=target,
        outcome=outcome,
        details=details,
    )
