"""Batches of commitments on their way to a ledger: their states, and the public status that follows from them.

A leaf is queued, then in a batch, whose state is the leaf's. Only the revocation is the leaf's own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum

from identity_codec.values import value_class
from identity_core.domain.proofs.verification import Anchor, AnchorStatus

_NEXT: Mapping[AnchorStatus, frozenset[AnchorStatus]] = {
    AnchorStatus.PENDING: frozenset({AnchorStatus.CONFIRMED, AnchorStatus.FAILED, AnchorStatus.REVOKED}),
    # Back to pending only when the ledger's own blocks were undone deeper than it waits for.
    AnchorStatus.CONFIRMED: frozenset({AnchorStatus.REVOKED, AnchorStatus.PENDING}),
    AnchorStatus.FAILED: frozenset({AnchorStatus.PENDING}),
    # Back to what its batch is only when the block of the revocation was undone that deep.
    AnchorStatus.REVOKED: frozenset({AnchorStatus.PENDING, AnchorStatus.CONFIRMED, AnchorStatus.FAILED}),
    AnchorStatus.PRE_PHASE7: frozenset({AnchorStatus.PENDING}),
}


def next_status(before: AnchorStatus, after: AnchorStatus) -> AnchorStatus:
    """Return ``after``. Raises ``ValueError``: when it may not follow ``before``."""
    if after not in _NEXT[before]:
        raise ValueError(f"an anchor does not go from {before.value} to {after.value}")
    return after


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


@value_class
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

    def after_report(
        self, state: BatchState, tx_hash: str | None, block_number: int | None, reason: str, *, most_attempts: int
    ) -> Batch:
        """Return the batch after what the ledger tells of its root. A failure is tried again until ``most_attempts`` are used up;
        the last transaction stays on show."""
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
        """Return the batch when the ledger knows nothing of its root: it is to be submitted, again if need be."""
        return replace(self, state=BatchState.SEALED, tx_hash=None, block_number=None, reason="")


class LeaseLost(Exception):
    """Another worker has the lease, or the row has changed since it was read; nothing was written."""


@value_class
class AnchorLeaf:
    """A commitment to a proof."""

    proof_id: str
    commitment: bytes


@value_class
class RevokedLeaf:
    """A leaf whose revocation the ledger has, in that block."""

    leaf: AnchorLeaf
    block_number: int


@value_class
class Work:
    """The work that there is. ``oldest`` is when the first of the ``waiting`` was queued; ``undecided`` counts batches, ``revoking``
    leaves; ``trouble`` is why one of the batches waits, empty when none does."""

    waiting: int
    oldest: datetime | None
    undecided: int
    revoking: int
    trouble: str

    @property
    def is_none(self) -> bool:
        """Return whether a worker has nothing to do."""
        return not (self.waiting or self.undecided or self.revoking)


@value_class
class Sealing:
    """A batch that is about to be made: ``details`` are the paths as they are stored, by proof; ``checkpoint`` is the body of the
    checkpoint that is the last leaf, and its path, None without one."""

    ledger: str
    root: bytes
    size: int
    details: Mapping[str, str]
    checkpoint: tuple[bytes, str] | None


@value_class
class AnchoringPolicy:
    """A batch is sealed at ``batch_size`` leaves or when its oldest has waited for ``seal_after``; what the ledger reports as failed is
    tried ``most_attempts`` times, ``retry_seconds`` apart."""

    batch_size: int
    seal_after: timedelta
    most_attempts: int
    retry_seconds: float

    def is_due(self, work: Work, now: datetime) -> bool:
        """Return whether a batch is to be sealed at ``now``. A time in the future is of a clock that was set back since."""
        if work.oldest is None:
            return False
        return work.waiting >= self.batch_size or not timedelta(0) <= now - work.oldest < self.seal_after
