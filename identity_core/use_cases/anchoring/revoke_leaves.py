"""Revoking leaves on the ledger, one by one: the others of their batch are not touched."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from identity_core.ports.clock import Clock
from identity_core.ports.ledger import AnchoringLedger
from identity_core.ports.outbox import AnchorOutbox
from identity_core.use_cases.anchoring.journal import AnchorJournal

AT_ONCE = 256

log = logging.getLogger("identity")


@dataclass(frozen=True, slots=True)
class RevokeLeaves:
    """Asks for every revocation that is on the way, which is safe to do again; one that failed is thereby begun anew."""

    outbox: AnchorOutbox
    ledger: AnchoringLedger
    journal: AnchorJournal
    clock: Clock

    async def __call__(self) -> int:
        """How many became final. Raises ``LeaseLost``, ``LedgerUnavailable``."""
        name, done = self.ledger.anchor_ledger_name, 0
        for leaf in await self.outbox.revoking(name, AT_ONCE):
            told = await self.ledger.revocation_status(leaf.commitment)
            if told is None or told.state == "failed":
                if told is not None:
                    log.warning(
                        "the revocation of the anchor of %s failed and is tried again: %s", leaf.proof_id, told.reason
                    )
                told = await self.ledger.revoke_leaf(leaf.commitment)
            if told.state == "confirmed" and told.block_number is not None:
                now = self.clock.now()
                await self.outbox.revoked(leaf, told.block_number, now)
                await self.journal.revoked(leaf, told.block_number, name, now)
                done += 1
        return done
