"""listEvents: every change by ledger sequence, for anybody who follows the service."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.ports.repositories import DocumentIndex, IndexedVersion


@dataclass(frozen=True, slots=True)
class ListEvents:
    """At most ``limit`` recorded versions after the sequence ``after``."""

    index: DocumentIndex

    async def __call__(self, *, after: int, limit: int) -> Sequence[IndexedVersion]:
        return await self.index.events(after=after, limit=limit)
