"""Metrics of anchoring, and alarms in the log. Of several processes the one that holds the lease has the numbers.

The events of the timeline are written with the receipts (``StoredOutbox.advance``).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from identity_anchoring.batches import Batch, BatchState, RevokedLeaf, Work
from identity_core.extension.declaration import Gauge, Mode

log = logging.getLogger("identity")


class Figures(Struct):
    """The metrics of this process: gauges of the outbox at its last read, and counters since its start."""

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
        """Note the state of the outbox."""
        self.waiting, self.undecided, self.revoking = work.waiting, work.undecided, work.revoking
        self.trouble = work.trouble
        self.oldest_seconds = 0.0 if work.oldest is None else max(0.0, (now - work.oldest).total_seconds())

    def stepped(self, before: Batch, after: Batch, ledger: str) -> None:
        """Note that a batch advanced a step, or waits for another reason than before."""
        if after.reason and after.reason != before.reason:
            log.warning("anchoring waits: batch %d is %s: %s", after.id, after.state.value, after.reason)
        if before.state is BatchState.CONFIRMED:
            self.reopened += before.size
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
            self.confirmed += after.size
        elif after.state is BatchState.FAILED and before.state is not BatchState.FAILED:
            self.failed += after.size
            log.error("ALARM: batch %d of %d anchors failed: %s", after.id, after.size, after.reason)

    def revocation_undone(self, before: RevokedLeaf, block_number: int | None, ledger: str) -> None:
        """Note that the block of a revocation is gone. ``block_number`` is its new block, if it has one."""
        self.reopened += 1
        log.error(
            "ALARM: the ledger %s undid block %d, in which the anchor of %s was revoked; %s",
            ledger,
            before.block_number,
            before.leaf.proof_id,
            "the revocation is on its way again" if block_number is None else f"that is in block {block_number} now",
        )


_STUCK: Final = "1 while a batch waits for something, such as an empty purse, where a person has to do something."
_ANCHORING: Final[dict[str, tuple[Mode, str]]] = {
    "waiting": ("livemax", "Proofs that are in no batch yet."),
    "undecided": ("livemax", "Batches that are not confirmed and have not failed."),
    "revoking": ("livemax", "Anchors whose revocation is on the way."),
    "oldest_seconds": ("livemax", "How long the oldest proof has waited for a batch."),
    "confirmed": ("counter", "Leaves of batches that were confirmed."),
    "failed": ("counter", "Leaves of batches that failed."),
    "reopened": ("counter", "Confirmed anchors and their revocations whose block the ledger undid."),
    "revoked": ("counter", "Anchors that were revoked on the ledger."),
}


def anchoring_gauges(figures: Figures) -> Iterator[Gauge]:
    """Yield the gauges of anchoring."""

    def figure(name: str) -> Callable[[], Any]:
        return lambda: getattr(figures, name)

    yield Gauge("anchoring_stuck", "livemax", _STUCK, lambda: bool(figures.trouble))
    for name, (mode, meaning) in _ANCHORING.items():
        yield Gauge(f"anchoring_{name}", mode, meaning, figure(name))
