"""The compact receipt of a proof's anchor on a ledger, and how its status may change (openapi/DECISIONS.md §4.10).

What becomes of commitments on their way to a ledger: the steps inside, and the public status that follows from them.

A leaf is queued, then one of a batch; how far it is is how far its batch is. Only the revocation is the leaf's own. Nothing here knows
a ledger: what one told comes in as arguments.

A checkpoint of the ledger's own log that lies on a ledger, in a batch of anchors: what holds an operator to it whose own signature
need not be believed.

It is kept as one JSON text: the body of the checkpoint and its path to the root of the batch. That the root is on the ledger is for
that ledger to say.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from identity_codec import strict_json
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.ledger.anchor_proof import AnchorPath, checkpoint_commitment
from identity_tlog.note import Checkpoint
from identity_tlog.tree import Malformed


class AnchorStatus(StrEnum):
    """``pre-phase7`` is the status of imported proofs that are older than anchoring; our code never makes a new one."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    REVOKED = "revoked"
    FAILED = "failed"
    PRE_PHASE7 = "pre-phase7"

    def to(self, status: AnchorStatus) -> AnchorStatus:
        """``status``, if it may follow this one. Raises ``ValueError``."""
        if status not in _NEXT[self]:
            raise ValueError(f"an anchor does not go from {self.value} to {status.value}")
        return status


_NEXT: Mapping[AnchorStatus, frozenset[AnchorStatus]] = {
    AnchorStatus.PENDING: frozenset({AnchorStatus.CONFIRMED, AnchorStatus.FAILED, AnchorStatus.REVOKED}),
    # Back to pending only when the ledger's own blocks were undone deeper than it waits for.
    AnchorStatus.CONFIRMED: frozenset({AnchorStatus.REVOKED, AnchorStatus.PENDING}),
    AnchorStatus.FAILED: frozenset({AnchorStatus.PENDING}),
    # Back to what its batch is only when the block of the revocation was undone that deep.
    AnchorStatus.REVOKED: frozenset({AnchorStatus.PENDING, AnchorStatus.CONFIRMED, AnchorStatus.FAILED}),
    AnchorStatus.PRE_PHASE7: frozenset({AnchorStatus.PENDING}),
}


@value_class
class Anchor:
    """The ``Anchor`` of the document."""

    status: AnchorStatus
    tx_hash: str | None
    block_number: int | None
    revoked_block: int | None


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
    set back: no one waits until it comes round again."""
    if oldest is None:
        return False
    return waiting >= batch_size or not timedelta(0) <= now - oldest < seal_after


FORMAT: Final = "identity-anchored-checkpoint/v1"


@value_class
class AnchoredCheckpoint:
    """``checkpoint`` with the ``path`` of its commitment; the transaction (lower-case hex) and the block that the ledger told say
    where to look for the root."""

    checkpoint: Checkpoint
    path: AnchorPath
    tx_hash: str | None
    block_number: int | None

    def verify(self) -> None:
        """Raises ``Refuted`` unless the path leads from the checkpoint to the root."""
        self.path.verify(checkpoint_commitment(self.checkpoint.text.encode()))

    @property
    def json(self) -> dict[str, JsonValue]:
        """As it is kept."""
        return {
            "format": FORMAT,
            "checkpoint": self.checkpoint.text,
            "txHash": self.tx_hash,
            "blockNumber": self.block_number,
            "anchorDetails": self.path.json,
        }

    def encode(self) -> bytes:
        """The JSON text."""
        return json.dumps(self.json, indent=2).encode() + b"\n"

    @classmethod
    def parse(cls, octets: bytes) -> AnchoredCheckpoint:
        """From its JSON text, no matter who wrote it. Raises ``Malformed``."""
        try:
            body = strict_json.loads(octets)
        except strict_json.JsonRefused as error:
            raise Malformed("not an anchored checkpoint") from error
        if not isinstance(body, dict) or body.get("format") != FORMAT:
            raise Malformed("not an anchored checkpoint")
        text, tx_hash, block_number = (body.get(name) for name in ("checkpoint", "txHash", "blockNumber"))
        if not isinstance(tx_hash, str | None) or not (block_number is None or type(block_number) is int):
            raise Malformed("the anchored checkpoint names no transaction or block")
        checkpoint = Checkpoint.parse(text if isinstance(text, str) else "")
        return cls(checkpoint, AnchorPath.parse(body.get("anchorDetails")), tx_hash, block_number)
