"""listDids: the DIDs that an API key created."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.domain.caller import Caller
from identity_core.ports.repositories import DocumentIndex, IndexedVersion


@dataclass(frozen=True, slots=True)
class ListDids:
    """Heads in order of DID. Raises ``Forbidden`` when the caller is no API key, or the key lacks the scope."""

    index: DocumentIndex

    async def __call__(self, caller: Caller, *, after: str | None, limit: int) -> Sequence[IndexedVersion]:
        caller.require_key("dids:list")
        return await self.index.owned(caller.identity, after=after, limit=limit)
