"""listApiKeys: the keys of the writable store, revoked ones included. Keys of files and of the environment are not
listed: whoever may read those places sees them there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.domain.caller import ApiKey
from identity_core.ports.key_store import WritableKeyStore


@dataclass(frozen=True, slots=True)
class ListApiKeys:
    """One page."""

    store: WritableKeyStore

    async def __call__(self, *, after: str | None, limit: int) -> Sequence[ApiKey]:
        """At most ``limit`` keys in order of id, those after ``after`` first."""
        return await self.store.list(after=after, limit=limit)
