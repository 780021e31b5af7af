"""listCredentialSchemas: all that are registered, in order of id."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from identity_core.ports.credentials import CredentialSchemas, RegisteredSchema


@dataclass(frozen=True, slots=True)
class ListCredentialSchemas:
    """A page."""

    schemas: CredentialSchemas

    async def __call__(self, *, after: str | None, limit: int) -> Sequence[RegisteredSchema]:
        return await self.schemas.list(after=after, limit=limit)
