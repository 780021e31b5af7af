"""The outbox of anchoring: what is to go on a ledger, kept from the transaction that asks for it until the ledger has it.

Any number of workers may share it; one at a time holds its lease, and every change that a worker makes is refused when that is
no longer so. What the public sees of a proof's anchor changes in the same transactions.

Putting a commitment to a proof on a ledger, as the operation that makes proofs sees it (openapi/DECISIONS.md §4.10).

That a proof is to be anchored is part of its row from the beginning (status ``pending``), so no crash loses it; ``request``
only wakes the worker, and may wait for the outcome.

Taking an anchor back: the other half of anchoring, for proofs that are revoked after they were anchored.

The anchored tree itself does not change; a revocation of the one leaf is put on the ledger beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Protocol

from identity_core.domain.ledger.anchoring import Anchor, AnchoredCheckpoint, Batch
from identity_core.values import value_class


class LeaseLost(Exception):
    """Another worker holds the lease, or the row is not as it was read; nothing was written."""


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
    """What there is to do. ``oldest`` is when the first of the ``waiting`` was queued; ``undecided`` counts batches, ``revoking`` leaves;
    ``trouble`` is why one of the batches waits, empty when none does."""

    waiting: int
    oldest: datetime | None
    undecided: int
    revoking: int
    trouble: str

    @property
    def is_none(self) -> bool:
        """Whether a worker has nothing to do."""
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


class AnchorOutbox(Protocol):
    """Every method may raise ``PluginUnavailable`` and ``Overloaded``. ``ledger`` names one: batches of another are not touched."""

    async def work(self, ledger: str) -> Work:
        """What there is to do, no matter which worker does it."""
        ...

    async def hold(self, now: datetime) -> bool:
        """Takes or renews the lease; False when somebody else has it."""
        ...

    async def release(self) -> None:
        """Gives the lease back, if it is ours."""
        ...

    async def queued(self, limit: int) -> Sequence[AnchorLeaf]:
        """The oldest that are in no batch."""
        ...

    async def seal(self, sealing: Sealing, now: datetime) -> Batch:
        """Makes the batch. Raises ``LeaseLost``, also when one of its leaves was revoked meanwhile."""
        ...

    async def undecided(self, ledger: str) -> Sequence[Batch]:
        """The batches whose way is not at its end, oldest first."""
        ...

    async def confirmed(self, ledger: str, below: Batch | None, limit: int) -> Sequence[Batch]:
        """The confirmed batches, those in the newest blocks first; only what comes after ``below`` in that order, if it is given."""
        ...

    async def advance(self, before: Batch, after: Batch, now: datetime) -> None:
        """Stores a step of a batch, with the receipts of its proofs and their events. Raises ``LeaseLost``."""
        ...

    async def revoking(self, ledger: str, limit: int) -> Sequence[AnchorLeaf]:
        """The leaves whose revocation is on the way."""
        ...

    async def revoked(self, leaf: AnchorLeaf, block_number: int, now: datetime) -> None:
        """The ledger has the revocation of a leaf. Raises ``LeaseLost``."""
        ...

    async def revoked_leaves(self, ledger: str, below: RevokedLeaf | None, limit: int) -> Sequence[RevokedLeaf]:
        """The leaves whose revocation the ledger has, in the order of ``confirmed``; those that never went to a ledger are not among
        them."""
        ...

    async def revocation_undone(self, before: RevokedLeaf, block_number: int | None, now: datetime) -> None:
        """The revocation is in another block than before, or in none; then it is on its way again, and the receipt is that of the
        batch. Raises ``LeaseLost``."""
        ...

    async def receipt(self, proof_id: str) -> Anchor | None:
        """The receipt of a proof as it stands."""
        ...

    async def anchored_checkpoint(self, ledger: str) -> AnchoredCheckpoint | None:
        """The checkpoint in the newest confirmed batch that has one."""
        ...

    async def retry(self, now: datetime) -> int:
        """Queues the leaves of all failed batches again; how many. A proof that was revoked meanwhile stays where it is."""
        ...

    async def backfill(self, now: datetime, limit: int) -> int:
        """Queues proofs from before anchoring existed (``pre-phase7``), oldest first; how many."""
        ...


class AnchoringPort(Protocol):
    """The anchoring of this installation."""

    @property
    def enabled(self) -> bool:
        """Whether ``anchor: true`` is obeyed; if not it is refused before anything else is looked at."""
        ...

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        """The receipt of a stored proof: at once when ``wait_ms`` is 0, else as soon as it is confirmed or failed, and at the latest
        after that time as it stands then.

        Holds neither a transaction nor a worker. Trouble of the ledger is a receipt (``failed``), never an exception.
        """
        ...


class AnchorRevocation(Protocol):
    """What revokes anchors of stored proofs."""

    async def revoke(self, proof_id: str, wait_ms: int) -> Anchor | None:
        """The receipt of a proof whose anchor is to be revoked: at once when ``wait_ms`` is 0, else as soon as it is, and at the latest
        after that time as it stands then; None for a proof without an anchor. Repeating it changes nothing.

        Holds neither a transaction nor a worker. Trouble of the ledger shows in the receipt, never as an exception.
        """
        ...
