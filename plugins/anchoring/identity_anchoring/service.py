"""The anchoring service for operations on proofs, and the rows that proofs and revocations add in their transactions.

A proof and its leaf are stored in one transaction, so no crash loses it. The service only wakes the worker, and may wait.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Final

from identity_verification.use_cases.stored import REVOKED
from msgspec import Struct

from identity_anchoring.leaves import add_leaf, revoke_leaf
from identity_anchoring.outbox import StoredOutbox
from identity_anchoring.worker import AnchorWorker
from identity_core.database import Transaction
from identity_core.domain.activity import Event, EventRecord, ProofMade, StatusChanged
from identity_core.domain.proofs.stored import MAX_SYNC_WAIT_MS, Anchor, AnchorStatus, StoredProof
from identity_core.errors import AnchoringDisabled, IdentityError
from identity_core.ports.proofs import Anchoring
from identity_core.use_cases.background import awaited

MOST_WAITERS: Final = 256
POLL_SECONDS: Final = 0.2
"""The worker may be in another process, whose notices do not arrive here."""


class AnchorRows:
    """The sink that queues the commitment to a new proof, and begins the revocation for a revoked one."""

    kinds: frozenset[type[Event]] = frozenset((ProofMade, StatusChanged))

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        for event, _, at in records:
            if isinstance(event.stored, StoredProof) and event.stored.anchor is not None:
                add_leaf(transaction, event.stored, at)
            elif event.kind == REVOKED and event.parties is not None and event.parties.proof_id is not None:
                revoke_leaf(transaction, event.parties.proof_id)


class ProofAnchoring(Anchoring, Struct):
    """The service of the kernel. If ``most_waiters`` requests wait, further ones are answered at once."""

    outbox: StoredOutbox
    is_enabled: bool
    worker: AnchorWorker
    most_waiters: int = MOST_WAITERS
    _waiting: int = 0

    @property
    def fault(self) -> str:
        return self.worker.fault

    def require_enabled(self) -> None:
        if not self.is_enabled:
            raise AnchoringDisabled

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        self.worker.called.notify()
        found, decided = None, {AnchorStatus.CONFIRMED, AnchorStatus.FAILED, AnchorStatus.REVOKED}
        if wait_ms > 0:
            try:
                found = await self._wait(proof_id, wait_ms, decided.__contains__)
            except IdentityError:
                # The proof and its place in the outbox are stored; that the receipt cannot be read now changes neither.
                found = None
        return found or Anchor(AnchorStatus.PENDING)

    async def revoke(self, proof: StoredProof, wait_ms: int) -> Anchor | None:
        self.worker.called.notify()
        over = {AnchorStatus.REVOKED, AnchorStatus.FAILED, AnchorStatus.PRE_PHASE7}
        return await self._wait(proof.id, wait_ms, over.__contains__)

    async def _wait(self, proof_id: str, wait_ms: int, is_over: Callable[[AnchorStatus], bool]) -> Anchor | None:
        if self._waiting >= self.most_waiters:
            wait_ms = 0
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(wait_ms, MAX_SYNC_WAIT_MS) / 1000
        self._waiting += 1
        try:
            while True:
                change = self.worker.news.next_change()
                receipt = await self.outbox.receipt(proof_id)
                left = deadline - loop.time()
                if receipt is None or is_over(receipt.status) or left <= 0:
                    return receipt
                await awaited(change, min(left, POLL_SECONDS))
        finally:
            self._waiting -= 1
