"""The rows of the document index, held against what a fold of the ledger gives: for a start, for audits, and to repair.

One DID at a time, so that memory is that of one log. The owner of a DID is not on the ledger: it is believed where its row has our tag,
and in rows of before there were tags, as it was then.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from identity_core.database import Database, Transaction
from identity_core.ports.repositories import IndexedVersion
from identity_core.store.row_mac import RowMac
from identity_core.store.version_rows import INSERT, NAMES, SELECT, VERSIONS, Row, is_ours, row_of, tagged

MISSING: Final = "is missing"
UNSEALED: Final = "has no tag"
NOT_ON_LEDGER: Final = "is not on the ledger"

_ROWS = f"{SELECT} WHERE did = :did ORDER BY version_id"
_SEAL = "UPDATE did_versions SET mac = :mac WHERE did = :did AND version_id = :version_id AND mac IS NULL"
_DELETE = "DELETE FROM did_versions WHERE did = :did"
_AT_SEQUENCE = f"{SELECT} WHERE sequence = :sequence"
_DELETE_AT = "DELETE FROM did_versions WHERE sequence = :sequence"
_UNSEALED = "SELECT DISTINCT did FROM did_versions WHERE mac IS NULL AND did > :after ORDER BY did LIMIT :limit"
_DIDS = "SELECT DISTINCT did FROM did_versions WHERE did > :after ORDER BY did LIMIT :limit"


class StoredIndexRows:
    """The port ``IndexRows`` on the tables of the store."""

    def __init__(self, database: Database, secret: bytes) -> None:
        self._database = database
        self._mac = RowMac(secret, VERSIONS)

    async def compare(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        stored = await self._database.read(lambda transaction: _rows(transaction, did))
        return [f"version {number} {what}" for number, what in self._differences(stored, folded)]

    async def seal(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        return await self._database.write(lambda transaction: self._seal(transaction, did, folded), durable=False)

    def _seal(self, transaction: Transaction, did: str, folded: Sequence[IndexedVersion]) -> list[str]:
        stored = _rows(transaction, did)
        found = self._differences(stored, folded)
        wrong = [f"version {number} {what}" for number, what in found if what not in (MISSING, UNSEALED)]
        if wrong:
            return wrong
        for number, what in found:
            version = folded[number - 1]
            if what == MISSING:
                transaction.execute(INSERT, tagged(self._mac, row_of(version, None)))
            else:
                row = (*row_of(version, None)[:-1], _owner(stored[number - 1]) if number == 1 else None)
                transaction.execute(_SEAL, tagged(self._mac, row))
        return []

    async def rebuild(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        return await self._database.write(lambda transaction: self._rebuild(transaction, did, folded))

    def _rebuild(self, transaction: Transaction, did: str, folded: Sequence[IndexedVersion]) -> list[str]:
        stored = _rows(transaction, did)
        genuine = {row[1]: tuple(row[: len(NAMES) - 1]) for row in stored if is_ours(self._mac, row)}
        said = {version.state.version_id: row_of(version, None)[:-1] for version in folded}
        contradicted = [number for number, row in genuine.items() if said.get(number) != row]
        if contradicted:
            return [f"version {number} was written by this service and is not on the ledger" for number in contradicted]
        owner = _owner(stored[0]) if 1 in genuine else None
        transaction.execute(_DELETE, {"did": did})
        for version in folded:
            row = row_of(version, owner)
            place = {"sequence": row[3]}
            standing = transaction.execute(_AT_SEQUENCE, place).fetchone()
            if standing is not None and not is_ours(self._mac, standing):
                transaction.execute(_DELETE_AT, place)
            transaction.execute(INSERT, tagged(self._mac, row))
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
            columns = _changed(row, row_of(version, None))
            if columns:
                found.append((number, f"differs in {', '.join(columns)}"))
            elif row[-1] is None:
                found.append((number, UNSEALED))
            elif not is_ours(self._mac, row):
                found.append((number, "has a tag that is not ours"))
        return found + [(number, NOT_ON_LEDGER) for number in by_number]

    async def unsealed(self, *, after: str, limit: int) -> Sequence[str]:
        return await self._names(_UNSEALED, after, limit)

    async def dids(self, *, after: str, limit: int) -> Sequence[str]:
        return await self._names(_DIDS, after, limit)

    async def _names(self, sql: str, after: str, limit: int) -> Sequence[str]:
        parameters = {"after": after, "limit": limit}
        rows = await self._database.read(lambda transaction: transaction.execute(sql, parameters).fetchall())
        return [str(row[0]) for row in rows]


def _rows(transaction: Transaction, did: str) -> list[Row]:
    return [tuple(row) for row in transaction.execute(_ROWS, {"did": did}).fetchall()]


def _changed(row: Row, said: Row) -> list[str]:
    """The columns that say something else; all but the owner, which the ledger does not know."""
    # psycopg may give octets as memoryview, and SQLite whatever somebody put there.
    read = [bytes(value) if isinstance(value, memoryview) else value for value in row[: len(NAMES) - 1]]
    return [name for name, stored, expected in zip(NAMES, read, said, strict=False) if stored != expected]


def _owner(row: Row) -> str | None:
    owner = row[len(NAMES) - 1]
    return owner if isinstance(owner, str) else None
