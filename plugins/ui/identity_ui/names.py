"""Names for people instead of identifiers: the titles of credential types and of their attributes, in the language of the reader."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Any, Final

from identity_codec.values import value_class
from identity_core.api.credentials import CredentialHandlers
from identity_core.api.request import Request
from identity_core.cache import BoundedCache
from identity_core.errors import SchemaNotFound
from identity_ui.catalogues import language_of
from identity_ui.operations import ask

SCHEMAS_KEPT: Final = 256


@value_class
class Names:
    """Schemas are read once: they do not change."""

    credentials: CredentialHandlers
    known: BoundedCache[str, Mapping[str, Any]] = field(default_factory=lambda: BoundedCache(SCHEMAS_KEPT))

    async def schemas(self, request: Request, ids: Iterable[str]) -> dict[str, Mapping[str, Any]]:
        """Return the schemas of ``ids`` as getCredentialSchema answers, without those that are not registered here."""
        wanted = [*dict.fromkeys(ids)]
        found = await asyncio.gather(*(self._schema(request, one) for one in wanted))
        return {id: one for id, one in zip(wanted, found, strict=True) if one is not None}

    async def _schema(self, request: Request, schema_id: str) -> Mapping[str, Any] | None:
        known = self.known.get(schema_id)
        if known is not None:
            return known
        handler, path = self.credentials.get_credential_schema, {"schemaId": schema_id}
        try:
            return self.known.put(schema_id, await ask(handler, "getCredentialSchema", request, path=path))
        except SchemaNotFound:
            return None


def titles_of(request: Request, schemas: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the title of each schema that has one, by its id."""
    return {id: title for id, one in schemas.items() if (title := title_of(request, one))}


def title_of(request: Request, titled: Mapping[str, Any]) -> str:
    """Return the title of a schema or an attribute in the language of the reader, else its only title; empty without any."""
    language = language_of(request.header("accept-language"))
    return str(titled.get("titles", {}).get(language) or titled.get("title", ""))
