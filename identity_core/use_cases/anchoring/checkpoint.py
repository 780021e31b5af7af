"""The ledger's own log, as it goes into a batch."""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.merkle.checkpoint import Checkpoint
from identity_core.errors import IdentityError
from identity_core.use_cases.ledger.project import LedgerFollower


@dataclass(frozen=True, slots=True)
class NewestCheckpoint:
    """``origin`` is the log's name. What is anchored is the body, the text that is signed: its signature may be made at any time."""

    follower: LedgerFollower
    origin: str

    async def __call__(self) -> bytes | None:
        """The body; None for an empty log, and while it does not follow its ledger, which the follower reports."""
        try:
            frontier = await self.follower.now()
        except IdentityError:
            return None
        return Checkpoint(self.origin, frontier.size, frontier.root).text.encode() if frontier.size else None
