"""What becomes of commitments on their way to a ledger: the steps inside, and the public status that follows from them.

A leaf is queued, then one of a batch; how far it is is how far its batch is. Only the revocation is the leaf's own
(research/ledger.md §5.2). Nothing here knows a ledger: what one told comes in as arguments.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from identity_core.domain.anchor import Anchor, AnchorStatus


class LeafState(StrEnum):
    """*queued*: in no batch yet. *batched*: as far as its batch. *revoking*: the same, and its revocation is on the way.
    *revoked*: the ledger has the revocation."""

    QUEUED = "queued"
    BATCHED = "batched"
    REVOKING = "revoking"
    REVOKED = "revoked"


class BatchState(StrEnum):
    """*sealed*: root and paths are fixed and stored, the ledger has yet to take it over. The others are the ledger's
    (``AnchorTransaction``)."""

    SEALED = "sealed"
    SUBMITTED = "submitted"
    MINED = "mined"
    CONFIRMED = "confirmed"
    FAILED = "failed"


_PUBLIC: Mapping[BatchState, AnchorStatus] = {
    BatchState.SEALED: AnchorStatus.PENDING,
    BatchState.SUBMITTED: AnchorStatus.PENDING,
    BatchState.MINED: AnchorStatus.PENDING,
    BatchState.CONFIRMED: AnchorStatus.CONFIRMED,
    BatchState.FAILED: AnchorStatus.FAILED,
}


@dataclass(frozen=True, slots=True)
class Batch:
    """A tree of ``size`` commitments and how far its root is. ``attempts`` counts the failures that the ledger reported;
    ``reason`` says what it waits for, or why it failed."""

    id: int
    root: bytes
    size: int
    state: BatchState
    tx_hash: str | None = None
    block_number: int | None = None
    attempts: int = 0
    reason: str = ""

    @property
    def anchor(self) -> Anchor:
        """The receipt of every leaf in it that is not revoked."""
        return Anchor(_PUBLIC[self.state], self.tx_hash, self.block_number, None)

    def told(
        self, state: BatchState, tx_hash: str | None, block_number: int | None, reason: str, *, most_attempts: int
    ) -> Batch:
        """The batch after what the ledger tells of its root. A failure is tried again until ``most_attempts`` are used up; the last
        transaction stays on show."""
        if state is not BatchState.FAILED:
            return replace(self, state=state, tx_hash=tx_hash, block_number=block_number, reason=reason)
        # What was confirmed before its block was undone begins anew.
        attempts = 1 if self.state is BatchState.CONFIRMED else self.attempts + 1
        is_over = attempts >= most_attempts and self.state is not BatchState.CONFIRMED
        return replace(
            self,
            state=BatchState.FAILED if is_over else BatchState.SEALED,
            tx_hash=tx_hash or self.tx_hash,
            block_number=None,
            attempts=attempts,
            reason=reason,
        )

    def forgotten(self) -> Batch:
        """The batch when the ledger knows nothing of its root: it is to be submitted, again if need be."""
        return replace(self, state=BatchState.SEALED, tx_hash=None, block_number=None, reason="")


def is_due(waiting: int, oldest: datetime | None, now: datetime, *, batch_size: int, seal_after: timedelta) -> bool:
    """Whether ``waiting`` commitments, the ``oldest`` queued then, are to be sealed. A time in the future is of a clock that was
    set back: nobody waits until it comes round again."""
    if oldest is None:
        return False
    return waiting >= batch_size or not timedelta(0) <= now - oldest < seal_after
