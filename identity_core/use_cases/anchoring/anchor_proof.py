"""What the operations on proofs see of anchoring: a receipt, at once or when it is decided."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from identity_core.domain.anchor import Anchor, AnchorStatus
from identity_core.domain.delegated_proof import MAX_SYNC_WAIT_MS
from identity_core.errors import IdentityError
from identity_core.ports.outbox import AnchorOutbox
from identity_core.use_cases.anchoring.wakeup import Wakeup, awaited

MOST_WAITERS: Final = 256
POLL_SECONDS: Final = 0.2
"""The worker may be in another process, whose notices do not arrive here."""

_PENDING: Final = Anchor(AnchorStatus.PENDING, None, None, None)


@dataclass(slots=True)
class ProofAnchoring:
    """See ``Anchoring`` and ``AnchorRevocation``. Rows are already written when it is asked: it only wakes the worker, and waits. More
    than ``most_waiters`` at a time get their answer at once."""

    outbox: AnchorOutbox
    enabled: bool
    called: Wakeup
    news: Wakeup
    most_waiters: int = MOST_WAITERS
    _waiting: int = field(default=0)

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        self.called.notify()
        if wait_ms <= 0:
            return _PENDING
        decided = {AnchorStatus.CONFIRMED, AnchorStatus.FAILED, AnchorStatus.REVOKED}
        try:
            found = await self._wait(proof_id, wait_ms, lambda status: status in decided)
        except IdentityError:
            # The proof and its place in the outbox are stored; that the receipt cannot be read now changes neither.
            found = None
        return found or _PENDING

    async def revoke(self, proof_id: str, wait_ms: int) -> Anchor | None:
        self.called.notify()
        over = {AnchorStatus.REVOKED, AnchorStatus.FAILED, AnchorStatus.PRE_PHASE7}
        return await self._wait(proof_id, wait_ms, lambda status: status in over)

    async def _wait(self, proof_id: str, wait_ms: int, is_over: Callable[[AnchorStatus], bool]) -> Anchor | None:
        if self._waiting >= self.most_waiters:
            wait_ms = 0
        loop = asyncio.get_running_loop()
        deadline = loop.time() + min(wait_ms, MAX_SYNC_WAIT_MS) / 1000
        self._waiting += 1
        try:
            while True:
                change = self.news.next_change()
                receipt = await self.outbox.receipt(proof_id)
                left = deadline - loop.time()
                if receipt is None or is_over(receipt.status) or left <= 0:
                    return receipt
                await awaited(change, min(left, POLL_SECONDS))
        finally:
            self._waiting -= 1
