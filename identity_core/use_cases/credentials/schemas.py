"""createCredentialSchema: an ordered, immutable list of typed attributes.

getCredentialSchema: the attributes that issuers sign. It is public, because verifiers need it.

listCredentialSchemas: all registered schemas, in order of id. Any client may call it, so a page is limited in bytes too.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Mapping
from typing import Any, Final

from msgspec import Struct

from identity_codec.structs import UNSET, plain, value_or
from identity_core.domain.activity import Event, RequestContext
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.dids.did import Did
from identity_core.errors import Conflict, Forbidden, InvalidSchema, SchemaNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import CredentialSchemas, RegisteredSchema, SchemaPage
from identity_core.use_cases.credentials.read import WRITE
from identity_core.use_cases.record import Record
from identity_core.wire import CreateCredentialSchemaRequest, ListCredentialSchemasQuery

# The id of a schema is a URI, because the credential's data model requires one (VC 2.0 §4.11).
_URI: Final = re.compile(r"[a-z][a-z0-9+.-]{1,31}:[A-Za-z0-9._~:/?#@!$&'()*+,;=%-]{1,220}", re.ASCII)

_UUID: Final = re.compile(r"urn:uuid:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.ASCII)


MAX_TITLES: Final = 4_096


def read_titles(members: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]] | None:
    """Return the members ``title`` and ``titles`` of each of ``members`` that has some; None without any. Raises ``InvalidSchema``: for a
    character that is not printable, and for too many characters in all."""
    found = {name: {key: one[key] for key in ("title", "titles") if key in one} for name, one in members.items()}
    text = "".join(
        one.get("title", "") + "".join(map("".join, one.get("titles", {}).items())) for one in found.values()
    )
    if not text.isprintable() or len(text) > MAX_TITLES:
        raise InvalidSchema(details={"reason": f"the titles of a schema are {MAX_TITLES} printable characters in all"})
    return {name: one for name, one in found.items() if one} or None


class CreateCredentialSchema(Struct, frozen=True):
    """The registration of a schema. An API key with the scope may register any id. A DID may register its own ids: its DID URLs,
    URLs below its own path at this service (``places`` and the DID), and UUIDs, which have no owner.

    Raises ``Forbidden``: when the id is not the caller's. Raises ``InvalidSchema``. Raises ``Conflict``: when the id is taken, also by
    the same schema, because its owner would then be ambiguous."""

    schemas: CredentialSchemas
    record: Record
    clock: Clock
    random: Callable[[int], bytes]
    places: str

    async def __call__(self, wish: CreateCredentialSchemaRequest, context: RequestContext) -> RegisteredSchema:
        context.caller.require_scope(WRITE)
        schema_id, attributes = value_or(wish.id, None), plain(wish.attributes)
        if schema_id is None:
            schema_id = f"urn:uuid:{uuid.UUID(bytes=self.random(16), version=4)}"
        elif _URI.fullmatch(schema_id) is None:
            raise InvalidSchema(details={"reason": "the id of a schema is an absolute URI of at most 252 characters"})
        elif context.caller.person is not None and not self._is_of(context.caller.person, schema_id):
            own = [f"{context.caller.person}#…", f"{self.places}{context.caller.person}/…", "urn:uuid:…"]
            raise Forbidden(
                "The id of this schema is not the caller's to give.", details={"id": schema_id, "own": [*own]}
            )
        schema_json.check_size(attributes)
        given_titles = {name: one for name, one in (("title", wish.title), ("titles", wish.titles)) if one is not UNSET}
        titles = read_titles({"": given_titles, **{one["name"]: one for one in attributes}})
        now = self.clock.now()
        registered = RegisteredSchema(schema_json.read(schema_id, attributes), now, context.caller.author, titles)
        with context.keeping(lambda is_added: registered if is_added else None):
            is_added = await self.schemas.add(registered)
        if not is_added:
            raise Conflict("A schema has this id already; schemas do not change.", details={"id": schema_id})
        await self.record(context, Event(target=schema_id, details={"attributes": len(attributes)}), now)
        return registered

    def _is_of(self, did: Did, schema_id: str) -> bool:
        own = (f"{did}/", f"{did}?", f"{did}#", f"{self.places}{did}/")
        # Dots would leave the path again when a client resolves them.
        below = schema_id.startswith(own) and ".." not in schema_id and "%2e" not in schema_id.lower()
        return below or _UUID.fullmatch(schema_id) is not None


class GetCredentialSchema(Struct, frozen=True):
    """Use case getCredentialSchema. Raises ``SchemaNotFound``."""

    schemas: CredentialSchemas

    async def __call__(self, schema_id: str) -> RegisteredSchema:
        registered = await self.schemas.get(schema_id)
        if registered is None:
            raise SchemaNotFound
        return registered


PAGE_OCTETS: Final = 8_192
"""The maximum bytes of the stored attributes of a page; with header and messages the answer has about four times as many."""


class ListCredentialSchemas(Struct, frozen=True):
    """Use case listCredentialSchemas: one page of schemas."""

    schemas: CredentialSchemas

    async def __call__(self, query: ListCredentialSchemasQuery, *, after: str | None) -> SchemaPage:
        return await self.schemas.list(after=after, limit=query.limit, byte_count=PAGE_OCTETS)
