"""listCredentialSchemas: all that are registered, in order of id. Everybody may ask, so a page is bounded in octets too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.ports.credentials import CredentialSchemas, SchemaPage

PAGE_OCTETS: Final = 8_192
"""Of attributes as they are stored; header and messages of a schema make four times that of what is shown."""


@dataclass(frozen=True, slots=True)
class ListCredentialSchemas:
    """A page."""

    schemas: CredentialSchemas

    async def __call__(self, *, after: str | None, limit: int) -> SchemaPage:
        return await self.schemas.list(after=after, limit=limit, octets=PAGE_OCTETS)
