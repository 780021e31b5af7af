"""Following batches on their way: submitting what is sealed, and asking how far the ledger is with the rest."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from identity_core.domain.anchoring import Batch, BatchState
from identity_core.errors import IdentityError
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import AnchoringLedger
from identity_core.ports.outbox import AnchorOutbox
from identity_core.use_cases.anchoring.journal import AnchorJournal
from identity_core.use_cases.anchoring.policy import AnchoringPolicy

MOST_UNANSWERED = 3
"""After so many batches that could not be asked about, the rest of a look is left to the next one: each may cost a deadline."""


@dataclass(slots=True)
class FollowBatches:
    """A ledger that cannot be asked is waited for: nothing is given up, and the reason stands with the batch."""

    outbox: AnchorOutbox
    ledger: AnchoringLedger
    journal: AnchorJournal
    clock: Clock
    policy: AnchoringPolicy
    _not_before: dict[int, float] = field(default_factory=dict)

    async def __call__(self) -> None:
        """One look at the undecided batches. Raises ``LeaseLost``."""
        unanswered = 0
        for batch in await self.outbox.undecided(self.ledger.anchor_ledger_name):
            if self._not_before.get(batch.id, float("-inf")) > self.clock.monotonic():
                continue
            try:
                told = await self.told(batch)
            except IdentityError as error:
                unanswered += 1
                told = replace(batch, reason=f"the ledger cannot be asked: {error.code}")
            await self.store(batch, told)
            if unanswered >= MOST_UNANSWERED:
                break

    async def told(self, batch: Batch) -> Batch:
        """The batch as the ledger has it now. Raises ``LedgerUnavailable``."""
        if batch.state is BatchState.SEALED:
            told = await self.ledger.submit_anchor(batch.root, batch.size)
        else:
            known = await self.ledger.anchor_status(batch.root)
            if known is None:
                return batch.forgotten()
            told = known
        return batch.told(
            BatchState(told.state),
            told.transaction_hash,
            told.block_number,
            told.reason,
            most_attempts=self.policy.most_attempts,
        )

    async def store(self, before: Batch, after: Batch) -> None:
        """Stores what was told. Raises ``LeaseLost``."""
        self._not_before.pop(before.id, None)
        if after.state is BatchState.SEALED and after.attempts > before.attempts:
            self._not_before[after.id] = self.clock.monotonic() + self.policy.retry_seconds
        if after == before:
            return
        now = self.clock.now()
        await self.outbox.advance(before, after, now)
        await self.journal.stepped(before, after, self.ledger.anchor_ledger_name, now)
