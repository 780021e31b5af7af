"""Rows of the document index, with the tag that detects changes between write and read.

``StoredIndexRows`` compares them with a fold of the ledger: at startup, for audits, and for repairs. It runs one DID at a time, so
that memory is that of one log. The ledger does not have the owner of a DID. The owner is trusted if its row has our tag, or is a row
from before tags existed.
"""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final

import orjson

from identity_codec.times import micros, moment
from identity_core.database import Database, Dialect, Transaction
from identity_core.domain.dids.state import FORM, has_present_form, is_earlier_form, state_from_json, state_to_json
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion
from identity_core.store.records import Repository
from identity_core.store.row_mac import RowMac, version_octets

VERSIONS: Final = b"identity did_versions v1"
NAMES: Final = (
    *("did", "version_id", "printed_second", "sequence", "block_number", "recorded_at", "transaction_hash"),
    *("state", "document", "changes", "key_id", "owner"),
)
_COLUMNS: Final = (*NAMES, "mac")
STATE: Final = NAMES.index("state")
SELECT: Final = f"SELECT {', '.join(_COLUMNS)} FROM did_versions"  # noqa: S608 - made of constants
AFTER: Final = f"{SELECT} WHERE sequence > :after ORDER BY sequence LIMIT :limit"
_INSERT: Final = (
    f"INSERT INTO did_versions ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))}) ON CONFLICT DO NOTHING"  # noqa: S608
)

# Version ``low`` is not later than the second, and ``high`` is; a deleted row ends the search. PostgreSQL would read all versions of the
# DID for a join, so its statement has a subquery for each step; SQLite does not support recursion within a FROM. The statement begins like
# a look-up, which SQLite answers from the pages that the writer's connection caches over its commits.
_STEP: Final[dict[Dialect, str]] = {
    "sqlite": "search JOIN did_versions ON did = :did AND version_id = (low + high) / 2 WHERE high - low > 1",
    "postgresql": """(SELECT low, high, (low + high) / 2 AS version_id,
(SELECT printed_second FROM did_versions WHERE did = :did AND version_id = (low + high) / 2) AS printed_second
FROM search WHERE high - low > 1 LIMIT 1) AS step WHERE printed_second IS NOT NULL""",
}
AT: Final = {
    dialect: f"""
SELECT (WITH RECURSIVE search (low, high) AS (
SELECT CAST(0 AS bigint), CAST(:newest AS bigint) + 1
UNION ALL
SELECT CASE WHEN printed_second <= :second THEN version_id ELSE low END,
CASE WHEN printed_second <= :second THEN high ELSE version_id END
FROM {step})
SELECT max(low) FROM search)
"""  # noqa: S608 - made of constants
    for dialect, step in _STEP.items()
}

# The columns in the order of ``NAMES``; rows that are read have the tag after them.
Row = tuple[Any, ...]


def row_of(version: IndexedVersion, owner: str | None) -> Row:
    """Return the row of a recorded version; only the first version stores ``owner``."""
    state, receipt = version.state, version.receipt
    if receipt is None:
        raise ValueError(f"version {state.version_id} of {state.did} was never recorded on the ledger")
    return (
        state.did.text,
        state.version_id,
        micros(state.updated_at) // 1_000_000,
        receipt.sequence,
        receipt.block_number,
        micros(receipt.recorded_at),
        bytes.fromhex(receipt.transaction_hash),
        state_to_json(state),
        state.document.encoded,
        orjson.dumps(version.changes),
        state.key_id,
        owner if state.version_id == 1 else None,
    )


def tagged(mac: RowMac, row: Row) -> dict[str, object]:
    """Return the row with its tag, by column."""
    return {**dict(zip(NAMES, row, strict=True)), "mac": mac.tag(version_octets(row))}


def are_inserted(transaction: Transaction, mac: RowMac, *rows: Row) -> bool:
    """Insert the rows with their tags. Return False if the place of one is occupied."""
    columns = [(*row, mac.tag(version_octets(row))) for row in rows]
    return not columns or transaction.executemany(_INSERT, columns).rowcount == len(columns)


def is_ours(mac: RowMac, read: Row) -> bool:
    """Return whether the row, with its tag, is as this service wrote it."""
    try:
        return mac.holds(version_octets(read[:-1]), read[-1])
    except (TypeError, AttributeError, struct.error):
        # The column has a type that this service never writes: SQLite stores values of every type.
        return False


def version_of(read: Row) -> IndexedVersion:
    """Return the version of a row that is ours."""
    did, _, _, sequence, block_number, recorded_at, transaction_hash, state, document, changes, _, _, _ = read
    return IndexedVersion(
        state_from_json(did, bytes(state), bytes(document)),
        Receipt(bytes(transaction_hash).hex(), block_number, sequence, moment(recorded_at)),
        tuple(orjson.loads(bytes(changes))),
    )


_KNOWN_CURSOR = "SELECT sequence, mac FROM projections WHERE name = :name"
# The value of a cursor that is not ours is ignored.
_KEEP_CURSOR = """
INSERT INTO projections (name, sequence, mac) VALUES (:name, :sequence, :mac)
ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence, mac = excluded.mac
WHERE projections.sequence < excluded.sequence OR :replace
"""


class StoredCursor(Repository):
    """A named number with a tag: the ledger sequence up to which a task is done."""

    def __init__(self, database: Database, secret: bytes, name: str) -> None:
        super().__init__(database)
        self._name, self._mac = name, RowMac(secret, b"identity projections v1")

    async def read_number(self) -> int:
        """Return the number; 0 if there is none that is ours."""
        kept = await self._rows(_KNOWN_CURSOR, {"name": self._name})
        return kept[0][0] if kept and self._mac.holds(self._counted(kept[0][0]), kept[0][1]) else 0

    async def keep(self, sequence: int, *, replace: bool) -> None:
        """Store the number if it is higher than the stored one, or if ``replace`` states that the stored one is not ours."""
        tag = self._mac.tag(self._counted(sequence))
        row = {"name": self._name, "sequence": sequence, "mac": tag, "replace": replace}
        await self._change(_KEEP_CURSOR, row, durable=False)

    def _counted(self, sequence: int) -> bytes:
        return f"{self._name} {sequence}".encode()


MISSING: Final = "is missing"
UNSEALED: Final = "has no tag"
EARLIER: Final = "is of an earlier form"
NOT_ON_LEDGER: Final = "is not on the ledger"

_ROWS = f"{SELECT} WHERE did = :did ORDER BY version_id"
_SEAL = "UPDATE did_versions SET mac = :mac WHERE did = :did AND version_id = :version_id AND mac IS NULL"
_DELETE = "DELETE FROM did_versions WHERE did = :did"
_AT_SEQUENCE = f"{SELECT} WHERE sequence = :sequence"
_DELETE_AT = "DELETE FROM did_versions WHERE sequence = :sequence"
_DIDS = "SELECT DISTINCT did FROM did_versions WHERE did > :after ORDER BY did LIMIT :limit"


class StoredIndexRows(Repository):
    """The port ``IndexRows`` on the tables of the store."""

    def __init__(self, database: Database, secret: bytes) -> None:
        super().__init__(database)
        self._mac = RowMac(secret, VERSIONS)
        self._cursor = StoredCursor(database, secret, f"documents of form {FORM}")

    async def compare(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        stored = await self._database.read(lambda transaction: _rows(transaction, did))
        return _lines(found for found in self._differences(stored, folded) if found[1] != EARLIER)

    async def seal(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        return await self._database.write(lambda transaction: self._seal(transaction, did, folded), durable=False)

    def _seal(self, transaction: Transaction, did: str, folded: Sequence[IndexedVersion]) -> list[str]:
        stored = _rows(transaction, did)
        found = self._differences(stored, folded)
        if wrong := _lines(one for one in found if one[1] not in (MISSING, UNSEALED, EARLIER)):
            return wrong
        for number, what in found:
            version = folded[number - 1]
            if what == MISSING:
                are_inserted(transaction, self._mac, row_of(version, None))
            elif what == UNSEALED:
                row = (*row_of(version, None)[:-1], _owner(stored[number - 1]) if number == 1 else None)
                transaction.execute(_SEAL, tagged(self._mac, row))
        return self._rebuild(transaction, did, folded) if any(what == EARLIER for _, what in found) else []

    async def rebuild(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        return await self._database.write(lambda transaction: self._rebuild(transaction, did, folded))

    def _rebuild(self, transaction: Transaction, did: str, folded: Sequence[IndexedVersion]) -> list[str]:
        stored = _rows(transaction, did)
        genuine = {row[1]: row for row in stored if is_ours(self._mac, row)}
        said = {version.state.version_id: row_of(version, None) for version in folded}
        different = [number for number in genuine if number not in said or self._changed(genuine[number], said[number])]
        if different:
            return [f"version {number} was written by this service and is not on the ledger" for number in different]
        owner = _owner(stored[0]) if 1 in genuine else None
        transaction.execute(_DELETE, {"did": did})
        for version in folded:
            row = row_of(version, owner)
            place = {"sequence": row[3]}
            standing = transaction.execute(_AT_SEQUENCE, place).fetchone()
            if standing is not None and not is_ours(self._mac, standing):
                transaction.execute(_DELETE_AT, place)
            are_inserted(transaction, self._mac, row)
        return [f"version {number} {what}" for number, what in self._differences(_rows(transaction, did), folded)]

    def _differences(self, stored: Sequence[Row], folded: Sequence[IndexedVersion]) -> list[tuple[int, str]]:
        by_number = {row[1]: row for row in stored}
        found: list[tuple[int, str]] = []
        for version in folded:
            number = version.state.version_id
            row = by_number.pop(number, None)
            if row is None:
                found.append((number, MISSING))
                continue
            if columns := self._changed(row, row_of(version, None)):
                found.append((number, f"differs in {', '.join(columns)}"))
            elif row[-1] is None:
                found.append((number, UNSEALED))
            elif not is_ours(self._mac, row):
                found.append((number, "has a tag that is not ours"))
            elif is_earlier(row[STATE]):
                found.append((number, EARLIER))
        return found + [(number, NOT_ON_LEDGER) for number in by_number]

    def _changed(self, row: Row, said: Row) -> list[str]:
        """Return the columns that differ, without the owner, which the ledger does not have. A state of an earlier form is equal if the
        row is ours."""
        # psycopg may return bytes as memoryview, and SQLite any type that another program stored.
        read = [bytes(value) if isinstance(value, memoryview) else value for value in row[: len(NAMES) - 1]]
        changed = [name for name, stored, expected in zip(NAMES, read, said, strict=False) if stored != expected]
        if changed == ["state"] and is_ours(self._mac, row) and is_earlier_form(read[STATE], said[STATE]):
            return []
        return changed

    async def unfinished(self, *, limit: int) -> AsyncIterator[Sequence[str]]:
        known = after = await self._cursor.read_number()
        while rows := await self._rows(AFTER, {"after": after, "limit": limit}):
            yield sorted({str(row[0]) for row in rows if row[-1] is None or is_earlier(row[STATE])})
            after = rows[-1][3]
            await self._cursor.keep(after, replace=known == 0)

    async def dids(self, *, after: str, limit: int) -> Sequence[str]:
        return [str(row[0]) for row in await self._rows(_DIDS, {"after": after, "limit": limit})]


def _rows(transaction: Transaction, did: str) -> list[Row]:
    return [tuple(row) for row in transaction.execute(_ROWS, {"did": did}).fetchall()]


def is_earlier(state: object) -> bool:
    """Return whether the column ``state`` of a row is of an earlier form. A value of another type is not; its row is not ours."""
    return isinstance(state, bytes | memoryview) and not has_present_form(bytes(state))


def _lines(found: Iterable[tuple[int, str]]) -> list[str]:
    return [f"version {number} {what}" for number, what in found]


def _owner(row: Row) -> str | None:
    owner = row[len(NAMES) - 1]
    return owner if isinstance(owner, str) else None
