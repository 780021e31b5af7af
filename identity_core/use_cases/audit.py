"""listAuditLines: the whole audit log, for operators who may see everybody's.

The lines come as they were hashed, with their links, so that who reads them can check that none is missing or edited.

CheckAuditChain: the same check by the service itself, a part at a time, for the operator's page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from identity_core.domain.activity import (
    ChainBroken,
    ChainedLine,
    ChainHead,
    check_kept,
    check_reached,
    follow,
)
from identity_core.domain.callers import Caller
from identity_core.errors import Forbidden
from identity_core.ports.repositories import AuditLog
from identity_core.wire import ListAuditLinesQuery

SCOPE = "audit:read"


@dataclass(frozen=True, slots=True)
class ListAuditLines:
    """Raises ``Forbidden`` for a caller that is no API key with ``audit:read``, and for a key with an allowlist: a chain with gaps proves
    nothing, and the whole one is about everybody."""

    audit: AuditLog

    async def __call__(self, query: ListAuditLinesQuery, caller: Caller) -> Sequence[ChainedLine]:
        caller.require_key(SCOPE)
        if caller.api_key is None or caller.api_key.allowed_targets is not None:
            raise Forbidden("The audit log is about everybody: a key with an allowlist may not read it.")
        return await self.audit.chain(after=query.after, limit=query.limit)


MOST_LINES: Final = 5_000
"""How many lines one look follows, so that nobody waits for a long log."""


@dataclass(frozen=True, slots=True)
class CheckedChain:
    """Lines 1 to ``verified`` follow each other; the log says that it has ``total``, None where its head is not ours. ``broken`` says what
    is wrong, empty for nothing."""

    verified: int
    total: int | None
    broken: str = ""


@dataclass(slots=True)
class CheckAuditChain:
    """Follows the chain from its first line, going on where the last look of this process ended, and holds its end against the head that
    only the service's keys make. A line that is changed behind ``reached`` is found when a process looks anew: `identity audit verify`
    does."""

    audit: AuditLog
    reached: ChainHead = field(default_factory=ChainHead)

    async def __call__(self) -> CheckedChain:
        # Another look may end while this one waits.
        reached = self.reached
        kept = await self.audit.head()
        if kept is None:
            return CheckedChain(reached.sequence, None, "its head was not written by this service")
        found = await self.audit.chain(after=reached.sequence, limit=MOST_LINES)
        # What was appended since the head was read is for the next look.
        lines = [line for line in found if line.sequence <= kept.head.sequence]
        try:
            check_reached(kept.head, reached)
            reached = follow(reached, lines)
            if reached.sequence == kept.head.sequence or len(found) < MOST_LINES:
                check_kept(reached, kept)
        except ChainBroken as error:
            return CheckedChain(reached.sequence, kept.head.sequence, str(error))
        self.reached = reached
        return CheckedChain(reached.sequence, kept.head.sequence)
