"""listCredentialSchemas: all that are registered, in order of id. Everybody may ask, so a page is bounded in octets too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from identity_core.ports.credentials import CredentialSchemas, SchemaPage

PAGE_OCTETS: Final = 32_768


@dataclass(frozen=True, slots=True)
class ListCredentialSchemas:
    """A page."""

    schemas: CredentialSchemas

    async def __call__(self, *, after: str | None, limit: int) -> SchemaPage:
        return await self.schemas.list(after=after, limit=limit, octets=PAGE_OCTETS)
