"""The document index: every version of every DID, as finished bytes beside the columns that are searched.

A projection of the ledger, so its writes need not be durable: ``cursor`` tells what a crash took, and the ledger still
has it. Heads that were read or written lately are kept decoded; they count as long as nobody else has written to
the database, which SQLite says cheaply and a server does not (there ``generation`` is None and every head is read).
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

import orjson

from identity_core.database import Database, Transaction
from identity_core.domain.history import state_from_json, state_to_json
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion
from identity_core.store.refusals import translated
from identity_core.store.times import micros, moment

HEADS_KEPT = 4096

_COLUMNS = """
SELECT state, document, changes, key_id, transaction_hash, block_number, sequence, recorded_at FROM did_versions
"""
_HEAD = f"{_COLUMNS} WHERE did = :did ORDER BY version_id DESC LIMIT 1"
_VERSION = f"{_COLUMNS} WHERE did = :did AND version_id = :version_id"
_AT = f"{_COLUMNS} WHERE did = :did AND printed_second <= :second ORDER BY printed_second DESC, version_id DESC LIMIT 1"
_ASCENDING = f"{_COLUMNS} WHERE did = :did AND version_id > :after ORDER BY version_id LIMIT :limit"
_DESCENDING = f"{_COLUMNS} WHERE did = :did AND version_id < :after ORDER BY version_id DESC LIMIT :limit"
_EVENTS = f"{_COLUMNS} WHERE sequence > :after ORDER BY sequence LIMIT :limit"
_OWNED = """
SELECT state, document, changes, key_id, transaction_hash, block_number, sequence, recorded_at FROM did_versions AS head
WHERE version_id = (SELECT max(version_id) FROM did_versions WHERE did = head.did)
AND did IN (SELECT did FROM did_versions WHERE owner = :owner AND did > :after ORDER BY did LIMIT :limit) ORDER BY did
"""
_INSERT = """
INSERT INTO did_versions (did, version_id, printed_second, sequence, block_number, recorded_at, transaction_hash, state,
document, changes, key_id, owner) VALUES (:did, :version_id, :printed_second, :sequence, :block_number, :recorded_at,
:transaction_hash, :state, :document, :changes, :key_id, :owner) ON CONFLICT DO NOTHING
"""
_CLAIM = "UPDATE did_versions SET owner = :owner WHERE did = :did AND version_id = :version_id AND owner IS NULL"
_KNOWN_CURSOR = "SELECT sequence FROM projections WHERE name = 'documents'"
_BEHIND = "SELECT count(*), max(sequence) FROM did_versions WHERE sequence > :known"
_SEQUENCES = "SELECT sequence FROM did_versions WHERE sequence > :known ORDER BY sequence LIMIT 1000"
_KEEP_CURSOR = """
INSERT INTO projections (name, sequence) VALUES ('documents', :sequence)
ON CONFLICT (name) DO UPDATE SET sequence = excluded.sequence WHERE projections.sequence < excluded.sequence
"""


class Documents:
    """See ``DocumentIndex``."""

    def __init__(self, database: Database, *, heads_kept: int = HEADS_KEPT) -> None:
        self._database = database
        self._heads_kept = heads_kept
        self._heads: dict[str, IndexedVersion] = {}
        self._foreign = database.foreign_changes()

    async def head(self, did: str) -> IndexedVersion | None:
        """See ``DocumentIndex.head``."""
        known = self._known(did)
        if known is not None:
            return known
        found = await self._one(_HEAD, {"did": did})
        if found is not None:
            self._keep(found)
        return found

    async def version(self, did: str, version_id: int) -> IndexedVersion | None:
        """See ``DocumentIndex.version``."""
        return await self._one(_VERSION, {"did": did, "version_id": version_id})

    async def version_at(self, did: str, second: datetime) -> IndexedVersion | None:
        """See ``DocumentIndex.version_at``."""
        return await self._one(_AT, {"did": did, "second": micros(second) // 1_000_000})

    async def versions(self, did: str, *, after: int, limit: int, descending: bool) -> Sequence[IndexedVersion]:
        """See ``DocumentIndex.versions``."""
        if descending:
            below = after if after > 0 else 2**62
            return await self._all(_DESCENDING, {"did": did, "after": below, "limit": limit})
        return await self._all(_ASCENDING, {"did": did, "after": after, "limit": limit})

    async def owned(self, owner: str, *, after: str | None, limit: int) -> Sequence[IndexedVersion]:
        """See ``DocumentIndex.owned``."""
        return await self._all(_OWNED, {"owner": owner, "after": after or "", "limit": limit})

    async def events(self, *, after: int, limit: int) -> Sequence[IndexedVersion]:
        """See ``DocumentIndex.events``."""
        return await self._all(_EVENTS, {"after": after, "limit": limit})

    def generation(self, did: str) -> int | None:
        """See ``DocumentIndex.generation``."""
        known = self._known(did)
        return None if known is None else known.state.version_id

    async def record(self, versions: Sequence[IndexedVersion], *, owner: str | None = None) -> None:
        """See ``DocumentIndex.record``. Raises ``Overloaded``, ``PluginUnavailable``; the ledger has the entry all the same."""
        rows = [_row(version, owner) for version in versions]

        def insert(transaction: Transaction) -> None:
            for row in rows:
                # Who repairs the index does not know the owner; who created the DID, and was slower, does.
                if transaction.execute(_INSERT, row).rowcount == 0 and row["owner"] is not None:
                    transaction.execute(_CLAIM, row)

        with translated:
            # A file's last commits die with the process that then looks for them; a server may fail over behind its back.
            durable = self._database.dialect == "postgresql"
            written = asyncio.ensure_future(self._database.write(insert, durable=durable))
            written.add_done_callback(lambda done: self._recorded(done, versions))
            # A caller that is cancelled (its client hung up) must take neither the row nor the news of it away.
            await asyncio.shield(written)

    async def cursor(self) -> int:
        """See ``DocumentIndex.cursor``. It is worked out when asked, which is at a start, so that no write pays for it."""
        with translated:
            known, cursor = await self._database.read(_cursor)
            if cursor > known:
                parameters = {"sequence": cursor}
                await self._database.write(
                    lambda transaction: transaction.execute(_KEEP_CURSOR, parameters).rowcount, durable=False
                )
        return cursor

    def _known(self, did: str) -> IndexedVersion | None:
        with translated:
            foreign = self._database.foreign_changes()
        if foreign is None:
            return None
        if foreign != self._foreign:
            self._heads.clear()
            self._foreign = foreign
        return self._heads.get(did)

    def _keep(self, version: IndexedVersion) -> None:
        did = version.state.did.text
        known = self._heads.pop(did, None)
        if known is not None and known.state.version_id > version.state.version_id:
            version = known
        elif len(self._heads) >= self._heads_kept:
            del self._heads[next(iter(self._heads))]
        self._heads[did] = version

    def _recorded(self, written: asyncio.Future[None], versions: Sequence[IndexedVersion]) -> None:
        if written.cancelled() or written.exception() is not None:
            return
        for version in versions:
            self._keep(version)

    async def _one(self, sql: str, parameters: Mapping[str, object]) -> IndexedVersion | None:
        with translated:
            row = await self._database.read(lambda transaction: transaction.execute(sql, parameters).fetchone())
        return None if row is None else _version(row)

    async def _all(self, sql: str, parameters: Mapping[str, object]) -> Sequence[IndexedVersion]:
        with translated:
            rows = await self._database.read(lambda transaction: transaction.execute(sql, parameters).fetchall())
        return [_version(row) for row in rows]


def _cursor(transaction: Transaction) -> tuple[int, int]:
    """The cursor that was kept, and how far the rows behind it go on without a gap."""
    row = transaction.execute(_KNOWN_CURSOR).fetchone()
    known = 0 if row is None else row[0]
    count, newest = transaction.execute(_BEHIND, {"known": known}).fetchone()
    if count == 0 or newest - known == count:
        return known, newest or known
    cursor = known
    while page := transaction.execute(_SEQUENCES, {"known": cursor}).fetchall():
        for (sequence,) in page:
            if sequence != cursor + 1:
                return known, cursor
            cursor = sequence
    return known, cursor


def _row(version: IndexedVersion, owner: str | None) -> dict[str, object]:
    state, receipt = version.state, version.receipt
    if receipt is None:
        raise ValueError(f"version {state.version_id} of {state.did} was never recorded on the ledger")
    return {
        "did": state.did.text,
        "version_id": state.version_id,
        "printed_second": micros(state.updated_at) // 1_000_000,
        "sequence": receipt.sequence,
        "block_number": receipt.block_number,
        "recorded_at": micros(receipt.recorded_at),
        "transaction_hash": bytes.fromhex(receipt.transaction_hash),
        "state": state_to_json(state),
        "document": state.document.encode(),
        "changes": orjson.dumps(version.changes),
        "key_id": version.key_id,
        "owner": owner if state.version_id == 1 else None,
    }


def _version(row: Any) -> IndexedVersion:
    state, document, changes, key_id, transaction_hash, block_number, sequence, recorded_at = row
    return IndexedVersion(
        state_from_json(bytes(state), bytes(document)),
        Receipt(bytes(transaction_hash).hex(), block_number, sequence, moment(recorded_at)),
        tuple(orjson.loads(bytes(changes))),
        key_id,
    )
