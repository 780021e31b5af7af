"""Credentials and their schemas in the store, and the status lists that are derived from them.

A list is not a table of bits. It is computed from the rows that are revoked or suspended; a change of its ``version`` requires a new
computation. README.md describes how a place is found.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import accumulate
from typing import Any, Final

import orjson

from identity_client.status_list import ENTRIES
from identity_codec.times import micros, moment
from identity_core.cache import BoundedCache
from identity_core.database import Database, Transaction
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.credentials import status_list
from identity_core.domain.credentials.credential import Credential, CredentialStatus, StatusPurpose
from identity_core.domain.credentials.credential_schema import CredentialSchema
from identity_core.errors import Overloaded
from identity_core.ports.credentials import CredentialFilter, RegisteredSchema, SchemaPage, StatusList
from identity_core.ports.repositories import RowPosition
from identity_core.store.bindings import check_tag, set_listed
from identity_core.store.records import Repository, Table

_SCHEMAS = Table("credential_schemas", RegisteredSchema, extra=("id", "attributes"), omit=("definition",))
_ADD_SCHEMA = f"{_SCHEMAS.insert} ON CONFLICT DO NOTHING"
_SELECT_SCHEMA = f"SELECT id, attributes, {_SCHEMAS.columns} FROM credential_schemas"  # noqa: S608 - made of constants
_SCHEMA_SIZES = """
SELECT id, length(attributes) + coalesce(length(titles), 0) FROM credential_schemas WHERE id > :after ORDER BY id LIMIT :limit + 1
"""
_SCHEMA_PAGE = f"{_SELECT_SCHEMA} WHERE id > :after AND id <= :last ORDER BY id LIMIT :limit"


SCHEMAS_KEPT: Final = 1024


class StoredCredentialSchemas:
    """The port ``CredentialSchemas`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: BoundedCache[str, RegisteredSchema] = BoundedCache(SCHEMAS_KEPT)

    async def get(self, schema_id: str) -> RegisteredSchema | None:
        if (known := self._known.get(schema_id)) is not None:
            return known
        # PostgreSQL has no NUL in texts; no schema has such an id either.
        parameters = {"id": schema_id.replace("\0", "\1")}
        sql = f"{_SELECT_SCHEMA} WHERE id = :id"
        row = await self._database.read(lambda transaction: transaction.execute(sql, parameters).fetchone())
        return None if row is None else self._known.store(schema_id, _registered(row))

    async def add(self, schema: RegisteredSchema) -> bool:
        attributes = orjson.dumps(schema_json.attributes_json(schema.definition))
        parameters = _SCHEMAS.write(schema, id=schema.definition.schema.id, attributes=attributes)
        return await self._database.write(lambda transaction: transaction.execute(_ADD_SCHEMA, parameters).rowcount) > 0

    async def list(self, *, after: str | None, limit: int, byte_count: int) -> SchemaPage:
        start = {"after": (after or "").replace("\0", "\1"), "limit": limit}

        def page(transaction: Transaction) -> SchemaPage:
            # Read the sizes first, which is cheap, so that the page reads only the schemas that it returns.
            sizes = transaction.execute(_SCHEMA_SIZES, start).fetchall()
            taken = max(1, sum(total <= byte_count for total in accumulate(size for _, size in sizes[:limit])))
            if not sizes:
                return SchemaPage((), is_last=True)
            rows = transaction.execute(_SCHEMA_PAGE, {**start, "last": sizes[taken - 1][0]}).fetchall()
            return SchemaPage(list(map(_registered, rows)), is_last=taken >= len(sizes))

        return await self._database.read(page)


@lru_cache(maxsize=1024)
def definition(schema_id: str, attributes: bytes) -> CredentialSchema:
    """Return the schema of a stored row."""
    return schema_json.read(schema_id, orjson.loads(attributes))


def _registered(row: Any) -> RegisteredSchema:
    return _SCHEMAS.read(row[2:], definition=definition(row[0], bytes(row[1])))


TRIES: Final = 64
"""The number of random places that are tried. At least half are free, so all of them are occupied with probability 2^-64."""

_TABLE = Table(
    "credentials",
    Credential,
    extra=("schema_id", "sealed"),
    omit=("schema",),
    spread={"binding": ("bound_header", "commitment", "handle", "holder_secret", "secret_replaced")},
    alias="c",
)
_COLUMNS = f"""
SELECT s.id, s.attributes, {_TABLE.columns} FROM credentials AS c JOIN credential_schemas AS s ON s.id = c.schema_id
"""  # noqa: S608 - made of constants
_GET = f"{_COLUMNS} WHERE c.id = :id"
_SEALED = "SELECT sealed FROM credentials WHERE id = :id"
_TAKEN = "SELECT 1 FROM credentials WHERE id = :id"
_INSERT = f"{_TABLE.insert} ON CONFLICT DO NOTHING"
_OPEN_LIST = "SELECT id, number FROM status_lists WHERE issuer = :issuer AND issued < :full ORDER BY number LIMIT 1"
_NEXT_NUMBER = "SELECT count(*) FROM status_lists WHERE issuer = :issuer"
_NEW_LIST = """
INSERT INTO status_lists (id, issuer, number, issued, version, changed_at)
VALUES (:id, :issuer, :number, 0, 1, :changed_at) ON CONFLICT DO NOTHING
"""
_COUNT = "UPDATE status_lists SET issued = issued + 1 WHERE id = :id"
_SET_STATUS = """
UPDATE credentials SET status = :status, status_reason = :status_reason, version = version + 1
WHERE id = :id AND version = :version
"""
_RESET_DISCLOSURES = """
UPDATE credentials SET disclosures_reset_at = CASE WHEN disclosures_reset_at > :at THEN disclosures_reset_at ELSE :at END
WHERE id = :id AND holder = :holder
"""
_TOUCH_LIST = "UPDATE status_lists SET version = version + 1, changed_at = :changed_at WHERE id = :id"
_LIST = "SELECT issuer, number, version, changed_at FROM status_lists WHERE id = :id"
_LIST_VERSION = "SELECT version FROM status_lists WHERE id = :id"
_SET_BITS = """
SELECT status_index - :first FROM credentials WHERE issuer = :issuer AND status = :status AND status <> 'active'
AND status_index >= :first AND status_index < :behind ORDER BY status_index
"""
_STATUS_AT = f"""
SELECT c.status FROM status_lists AS l JOIN credentials AS c ON c.issuer = l.issuer
AND c.status_index = l.number * {ENTRIES} + :place WHERE l.id = :id
"""  # noqa: S608 - made of constants
_SAYS = {StatusPurpose.REVOCATION: CredentialStatus.REVOKED, StatusPurpose.SUSPENSION: CredentialStatus.SUSPENDED}


class StoredCredentials(Repository):
    """The port ``Credentials`` on the tables of the store."""

    async def get(self, credential_id: str) -> Credential | None:
        row = await self._one(_GET, {"id": _text(credential_id)})
        return None if row is None else _credential(row)

    async def sealed(self, credential_id: str) -> bytes | None:
        row = await self._one(_SEALED, {"id": _text(credential_id)})
        return None if row is None else bytes(row[0])

    async def add(
        self, credential: Credential, sealed: bytes, tag: bytes | None = None, *, random: Callable[[int], bytes]
    ) -> Credential | None:
        """See ``Credentials.add``. Raises ``Overloaded``: when no random place is free, which practically never happens."""
        row = _TABLE.write(credential, schema_id=credential.schema.id, sealed=sealed, tag=tag)
        thrown = random(4 * TRIES)
        places = [int.from_bytes(thrown[at : at + 4], "big") % ENTRIES for at in range(0, len(thrown), 4)]
        return await self._database.write(lambda transaction: _add(transaction, credential, row, places))

    async def list(self, wanted: CredentialFilter, *, after: RowPosition | None, limit: int) -> Sequence[Credential]:
        statement, parameters = _page(wanted, after)
        parameters["limit"] = limit
        return list(map(_credential, await self._rows(statement, parameters)))

    async def set_status(
        self, credential: Credential, status: CredentialStatus, reason: str | None, now: datetime
    ) -> Credential | None:
        number = credential.status_index // ENTRIES
        parameters = {
            "id": credential.id,
            "version": credential.version,
            "status": status.value,
            "status_reason": reason,
        }
        touched = {"id": status_list.list_id(credential.issuer, number), "changed_at": micros(now)}

        def change(transaction: Transaction) -> Credential | None:
            if not transaction.execute(_SET_STATUS, parameters).rowcount:
                return None
            transaction.execute(_TOUCH_LIST, touched)
            set_listed(transaction, credential.id, listed=status is not CredentialStatus.ACTIVE)
            return _credential(transaction.execute(_GET, {"id": credential.id}).fetchone())

        return await self._database.write(change)

    async def reset_disclosures(self, credential_id: str, holder: str, now: datetime) -> bool:
        parameters = {"id": _text(credential_id), "holder": holder, "at": micros(now)}
        return await self._change(_RESET_DISCLOSURES, parameters) > 0

    async def status_list(self, list_id: str, purpose: StatusPurpose) -> StatusList | None:
        def read(transaction: Transaction) -> StatusList | None:
            # Read the version first: bits that are newer than their version are read again, but older ones would remain.
            found = transaction.execute(_LIST, {"id": list_id}).fetchone()
            if found is None:
                return None
            issuer, number, version, changed_at = found
            first = number * ENTRIES
            span = {"issuer": issuer, "first": first, "behind": first + ENTRIES}
            rows = transaction.execute(_SET_BITS, {**span, "status": _SAYS[purpose].value}).fetchall()
            return StatusList(issuer, version, moment(changed_at), [row[0] for row in rows])

        return await self._database.read(read)

    async def status_at(self, list_id: str, place: int) -> CredentialStatus | None:
        row = await self._one(_STATUS_AT, {"id": list_id, "place": place})
        return None if row is None else CredentialStatus(row[0])

    async def status_list_version(self, list_id: str) -> int | None:
        row = await self._one(_LIST_VERSION, {"id": list_id})
        return None if row is None else int(row[0])

    async def _one(self, statement: str, parameters: dict[str, object]) -> Any:
        rows = await self._database.look_up(statement, parameters)
        return rows[0] if rows else None


def _add(
    transaction: Transaction, credential: Credential, row: dict[str, object], places: Sequence[int]
) -> Credential | None:
    if transaction.execute(_TAKEN, row).fetchone() is not None:
        return None
    if credential.binding is not None:
        row["secret_replaced"] = check_tag(transaction, row)
    list_id, number = _open_list(transaction, credential)
    for place in places:
        row["status_index"] = number * ENTRIES + place
        if transaction.execute(_INSERT, row).rowcount:
            transaction.execute(_COUNT, {"id": list_id})
            return _credential(transaction.execute(_GET, row).fetchone())
        if transaction.execute(_TAKEN, row).fetchone() is not None:
            return None
    raise Overloaded("No free place was found in the status list.", details={"retryAfter": 1})


def _open_list(transaction: Transaction, credential: Credential) -> tuple[str, int]:
    """Return id and number of the issuer's first list that is not full; create a list if all are full."""
    issuer = {"issuer": str(credential.issuer), "full": status_list.FULL}
    found = transaction.execute(_OPEN_LIST, issuer).fetchone()
    if found is None:
        number = transaction.execute(_NEXT_NUMBER, issuer).fetchone()[0]
        list_id = status_list.list_id(credential.issuer, number)
        # Another process may begin the same list at the same moment; then there is one, and both use it.
        changed_at = micros(credential.created_at)
        transaction.execute(_NEW_LIST, {"id": list_id, "number": number, "changed_at": changed_at, **issuer})
        return list_id, number
    return found[0], found[1]


def _page(wanted: CredentialFilter, after: RowPosition | None) -> tuple[str, dict[str, object]]:
    conditions = []
    parameters: dict[str, object] = {}
    if wanted.party is not None:
        conditions.append("(c.holder = :party OR c.issuer = :party)")
        parameters["party"] = wanted.party
    for name, value in (("holder", wanted.holder), ("issuer", wanted.issuer), ("status", wanted.status)):
        if value is not None:
            conditions.append(f"c.{name} = :{name}")
            parameters[name] = str(value)
    if after is not None:
        conditions.append("(c.created_at < :at OR (c.created_at = :at AND c.id < :before))")
        parameters |= {"at": micros(after.created_at), "before": _text(after.id)}
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"{_COLUMNS} {where} ORDER BY c.created_at DESC, c.id DESC LIMIT :limit", parameters


def _credential(row: Any) -> Credential:
    return _TABLE.read(row[2:], schema=definition(row[0], bytes(row[1])).schema)


def _text(text: str) -> str:
    # PostgreSQL has no NUL in texts; no credential has such an id either.
    return text.replace("\0", "\1")
