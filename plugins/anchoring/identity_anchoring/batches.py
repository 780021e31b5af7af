"""Batches of commitments for a ledger: their states, and the public status that follows from them.

A leaf is first queued and then in a batch, whose state it shares. Only its revocation is its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from identity_codec.values import replace
from identity_core.domain.proofs.stored import Anchor, AnchorStatus

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
    """Return ``after``. Raises ``ValueError``: when it must not follow ``before``."""
    if after not in _NEXT[before]:
        raise ValueError(f"an anchor does not go from {before.value} to {after.value}")
    return after


class LeafState(StrEnum):
    """The state of a leaf.

    - *queued*: in no batch yet.
    - *batched*: in a batch, whose state it shares.
    - *revoking*: in a batch, and its revocation is under way.
    - *revoked*: the ledger has the revocation.
    """

    QUEUED = "queued"
    BATCHED = "batched"
    REVOKING = "revoking"
    REVOKED = "revoked"


class BatchState(StrEnum):
    """The state of a batch. *sealed*: root and paths are fixed and stored, but not yet accepted by the ledger. The others are the
    ledger's (``AnchorTransaction``)."""

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


class Batch(Struct, frozen=True):
    """A tree of ``size`` commitments and the progress of its root. ``attempts`` counts the failures that the ledger reported.
    ``reason`` states why it waits or failed."""

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
        """Return the receipt of its leaves that are not revoked."""
        return Anchor(_PUBLIC[self.state], self.tx_hash, self.block_number, None)

    def after_report(
        self, state: BatchState, tx_hash: str | None, block_number: int | None, reason: str, *, most_attempts: int
    ) -> Batch:
        """Return the batch after the ledger's report about its root. A failure is tried again until ``most_attempts`` are used up.
        The last transaction stays visible."""
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
        """Return the batch if the ledger does not know its root: it must be submitted, again if necessary."""
        return replace(self, state=BatchState.SEALED, tx_hash=None, block_number=None, reason="")


class LeaseLost(Exception):
    """A lost lease: another worker has it, or the row has changed since it was read. Nothing was written."""


class AnchorLeaf(Struct, frozen=True):
    """A commitment to a proof."""

    proof_id: str
    commitment: bytes


class RevokedLeaf(Struct, frozen=True):
    """A leaf whose revocation the ledger has, in that block."""

    leaf: AnchorLeaf
    block_number: int


class Work(Struct, frozen=True):
    """The outstanding work.

    - ``oldest``: the time when the first of the ``waiting`` leaves was queued.
    - ``undecided``: how many batches are not final.
    - ``revoking``: how many leaves are being revoked.
    - ``trouble``: why one of the batches waits, or empty.
    """

    waiting: int
    oldest: datetime | None
    undecided: int
    revoking: int
    trouble: str

    @property
    def is_none(self) -> bool:
        """Return whether a worker has nothing to do."""
        return not (self.waiting or self.undecided or self.revoking)


class Sealing(Struct, frozen=True):
    """A batch before it is stored. ``details``: the stored form of the paths, by proof. ``checkpoint``: the body of the checkpoint
    that is the last leaf, and its path, or None."""

    ledger: str
    root: bytes
    size: int
    details: Mapping[str, str]
    checkpoint: tuple[bytes, str] | None


class AnchoringPolicy(Struct, frozen=True):
    """The rules of batches. A batch is sealed at ``batch_size`` leaves or when its oldest has waited for ``seal_after``. A batch
    that the ledger reports as failed is tried ``most_attempts`` times, ``retry_seconds`` apart."""

    batch_size: int
    seal_after: timedelta
    most_attempts: int
    retry_seconds: float

    def is_due(self, work: Work, now: datetime) -> bool:
        """Return whether a batch must be sealed at ``now``. A time in the future comes from a clock that was set back since."""
        if work.oldest is None:
            return False
        return work.waiting >= self.batch_size or not timedelta(0) <= now - work.oldest < self.seal_after
