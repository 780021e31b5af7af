"""Credential schemas in the store. A row never changes, so what was read once may be kept."""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

import orjson

from identity_core.cache import BoundedCache
from identity_core.database import Database, Transaction
from identity_core.domain import schema_json
from identity_core.domain.credential_schema import CredentialSchema
from identity_core.ports.credentials import RegisteredSchema, SchemaPage
from identity_core.store.times import micros, moment

_INSERT = """
INSERT INTO credential_schemas (id, attributes, created_at, created_by)
VALUES (:id, :attributes, :created_at, :created_by) ON CONFLICT DO NOTHING
"""
_GET = "SELECT id, attributes, created_at, created_by FROM credential_schemas WHERE id = :id"
_SIZES = """
SELECT id, length(attributes) FROM credential_schemas WHERE id > :after ORDER BY id LIMIT :limit + 1
"""
_PAGE = """
SELECT id, attributes, created_at, created_by FROM credential_schemas WHERE id > :after AND id <= :last ORDER BY id
LIMIT :limit
"""


SCHEMAS_KEPT: Final = 1024


class StoredCredentialSchemas:
    """The port ``CredentialSchemas`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: BoundedCache[str, RegisteredSchema] = BoundedCache(SCHEMAS_KEPT)

    async def get(self, schema_id: str) -> RegisteredSchema | None:
        known = self._known.get(schema_id)
        if known is not None:
            return known
        # PostgreSQL has no NUL in texts; no schema has such an id either.
        parameters = {"id": schema_id.replace("\0", "\1")}
        row = await self._database.read(lambda transaction: transaction.execute(_GET, parameters).fetchone())
        return None if row is None else self._known.put(schema_id, _registered(row))

    async def add(self, schema: RegisteredSchema) -> bool:
        parameters = {
            "id": schema.definition.schema.id,
            "attributes": orjson.dumps(schema_json.to_json(schema.definition)["attributes"]),
            "created_at": micros(schema.created_at),
            "created_by": schema.created_by,
        }
        return await self._database.write(lambda transaction: transaction.execute(_INSERT, parameters).rowcount) > 0

    async def list(self, *, after: str | None, limit: int, octets: int) -> SchemaPage:
        start = {"after": (after or "").replace("\0", "\1"), "limit": limit}

        def page(transaction: Transaction) -> SchemaPage:
            # Sizes first, which cost nothing: a page of the largest schemas is never read only to be cut.
            sizes = transaction.execute(_SIZES, start).fetchall()
            taken = max(1, sum(total <= octets for total in accumulate(size for _, size in sizes[:limit])))
            if not sizes:
                return SchemaPage((), is_last=True)
            rows = transaction.execute(_PAGE, {**start, "last": sizes[taken - 1][0]}).fetchall()
            return SchemaPage(list(map(_registered, rows)), is_last=taken >= len(sizes))

        return await self._database.read(page)


@lru_cache(maxsize=1024)
def definition(schema_id: str, attributes: bytes) -> CredentialSchema:
    """The schema of a stored row."""
    return schema_json.read(schema_id, orjson.loads(attributes))


def _registered(row: Any) -> RegisteredSchema:
    schema_id, attributes, created_at, created_by = row
    return RegisteredSchema(definition(schema_id, bytes(attributes)), moment(created_at), created_by)
