"""Sealing: what waits becomes one tree, whose root and paths are stored before a ledger hears of it.

So every receipt has its path as soon as it has a batch, and whatever dies afterwards, the same root is submitted again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from identity_core.domain.anchor_proof import AnchorPath, checkpoint_commitment, root_and_paths
from identity_core.domain.anchoring import Batch
from identity_core.ports.clock import Clock
from identity_core.ports.outbox import AnchorLeaf, AnchorOutbox, Sealing

Checkpoint = Callable[[], Awaitable[bytes | None]]
"""The body of the newest checkpoint of the ledger's own log, None where there is none to be had."""


@dataclass(slots=True)
class SealBatch:
    """Seals the oldest leaves, and with them the ledger's own checkpoint if it is another than in the batch before: a ledger that is
    anchored on another one cannot be written anew unseen."""

    outbox: AnchorOutbox
    ledger_name: str
    checkpoint: Checkpoint
    clock: Clock
    batch_size: int
    _last: bytes | None = field(default=None)

    async def __call__(self) -> Batch | None:
        """The batch; None when nothing waits. Raises ``LeaseLost``."""
        leaves = await self.outbox.queued(self.batch_size)
        if not leaves:
            return None
        text = await self.checkpoint()
        text = None if text == self._last else text
        now = self.clock.now()
        sealing = await asyncio.to_thread(_sealing, self.ledger_name, leaves, text, now)
        batch = await self.outbox.seal(sealing, now)
        if text is not None:
            self._last = text
        return batch


def _sealing(ledger: str, leaves: Sequence[AnchorLeaf], checkpoint: bytes | None, now: datetime) -> Sealing:
    commitments = [leaf.commitment for leaf in leaves]
    if checkpoint is not None:
        commitments.append(checkpoint_commitment(checkpoint))
    size = len(commitments)
    root, paths = root_and_paths(commitments)
    details = [AnchorPath.at(ledger, root, index, size, path, now).encode() for index, path in enumerate(paths)]
    own = None if checkpoint is None else (checkpoint, details[-1])
    return Sealing(ledger, root, size, {leaf.proof_id: told for leaf, told in zip(leaves, details, strict=False)}, own)
