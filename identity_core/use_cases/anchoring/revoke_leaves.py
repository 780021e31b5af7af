"""Revoking leaves on the ledger, one by one: the others of their batch are not touched."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

from identity_core.ports.clock import Clock
from identity_core.ports.ledger import AnchoringLedger, AnchorTransaction
from identity_core.ports.outbox import AnchorLeaf, AnchorOutbox, RevokedLeaf
from identity_core.use_cases.anchoring.journal import AnchorJournal

AT_ONCE = 256

log = logging.getLogger("identity")


@dataclass(slots=True)
class RevokeLeaves:
    """Asks for every revocation that is on the way, which is safe to do again; one that failed is begun anew after
    ``retry_seconds``, for ever: a proof that was taken back must not stay anchored."""

    outbox: AnchorOutbox
    ledger: AnchoringLedger
    journal: AnchorJournal
    clock: Clock
    retry_seconds: float
    _not_before: dict[str, float] = field(default_factory=dict)

    async def __call__(self) -> None:
        """Raises ``LeaseLost``, ``LedgerUnavailable``."""
        name = self.ledger.anchor_ledger_name
        for leaf in await self.outbox.revoking(name, AT_ONCE):
            told = await self._asked(leaf)
            if told is not None and told.state == "confirmed" and told.block_number is not None:
                now = self.clock.now()
                await self.outbox.revoked(leaf, told.block_number, now)
                await self.journal.revoked(leaf, told.block_number, name, now)

    async def block_of(self, leaf: AnchorLeaf) -> int | None:
        """The block in which the ledger has its revocation; None when it does not have it. Raises ``LedgerUnavailable``."""
        told = await self.ledger.revocation_status(leaf.commitment)
        return told.block_number if told is not None and told.state == "confirmed" else None

    async def undone(self, before: RevokedLeaf, block_number: int | None) -> None:
        """Stores that ``block_of`` is another than before. Raises ``LeaseLost``."""
        now = self.clock.now()
        await self.outbox.revocation_undone(before, block_number, now)
        await self.journal.revocation_undone(before, block_number, self.ledger.anchor_ledger_name, now)

    async def _asked(self, leaf: AnchorLeaf) -> AnchorTransaction | None:
        told = await self.ledger.revocation_status(leaf.commitment)
        if told is not None and told.state != "failed":
            return told
        if told is not None:
            at = self._not_before.setdefault(leaf.proof_id, self.clock.monotonic() + self.retry_seconds)
            if self.clock.monotonic() < at:
                return None
            log.warning("the revocation of the anchor of %s failed: %s", leaf.proof_id, told.reason)
        self._not_before.pop(leaf.proof_id, None)
        return await self.ledger.revoke_leaf(leaf.commitment)
