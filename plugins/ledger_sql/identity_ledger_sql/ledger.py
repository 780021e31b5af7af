"""Appends to one table, many to a commit. A version conflict fails alone; the place in the chain is handed from job to job."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, TypeVar

from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_core.database import (
    BatchJob,
    Database,
    DatabaseClosed,
    DatabaseError,
    DatabaseMismatch,
    NotReplicated,
    Transaction,
    migrate,
    open_database,
)
from identity_core.errors import LedgerUnavailable, Overloaded, StorageMismatch, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import (
    AnchorTransaction,
    Examination,
    LedgerEntry,
    LedgerHead,
    LogSize,
    NewestEntry,
    Receipt,
    require_steady,
)
from identity_ledger_sql import anchors, chain, examination, failures

T = TypeVar("T")

# The DID, the entry, its version and its transaction hash; and the columns of an entry in the order of the table.
Wanted = tuple[str, bytes, int, bytes]
Row = tuple[int, str, int, bytes, bytes, int, int, bytes]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Together with a commit that waits for its standby less than the core's timeout for a ledger.
_LOOK_UP_SECONDS = 1.5
_LOOK_AGAIN_SECONDS = 0.2

# On a server each commit begins with it, and no other process can append before that is through.
_LOCK = "SELECT id FROM ledger_head WHERE id = 1 FOR UPDATE"
# One statement sees one moment: no block is newer than the entries tell. On a server it is one journey, too.
_TIP = """
SELECT {clock}, anchored, sequence, block_number, recorded_at, link
FROM (SELECT coalesce((SELECT block_number FROM ledger_anchors ORDER BY position DESC LIMIT 1), 0) AS anchored) AS anchors
LEFT JOIN ledger_entries ON sequence = (SELECT max(sequence) FROM ledger_entries)
"""
_TOUCH = "UPDATE ledger_head SET id = 1 WHERE id = 1"
_VERSION = "SELECT max(version) FROM ledger_entries WHERE did = :did"
# No version comes before the first, so it is in the way of whatever there is of the DID.
_INSERT_FIRST = """
INSERT INTO ledger_entries (sequence, did, version, entry, transaction_hash, block_number, recorded_at, link)
VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (did, version) DO NOTHING
"""
_INSERT_NEXT = """
INSERT INTO ledger_entries (sequence, did, version, entry, transaction_hash, block_number, recorded_at, link)
SELECT ?, ?, ?, ?, ?, ?, ?, ?
WHERE ? = (SELECT coalesce(max(version), 0) FROM ledger_entries WHERE did = ?)
"""
_COLUMNS = "SELECT did, version, entry, transaction_hash, block_number, sequence, recorded_at FROM ledger_entries"
_OF_DID = f"{_COLUMNS} WHERE did = :did AND version > :after ORDER BY version LIMIT :limit"
_SIZE = "SELECT count(*), coalesce(sum(length(entry)), 0) FROM ledger_entries WHERE did = :did"
# What a limit can hold at most, on either database.
_ALL = 2**63 - 1
_NEWEST = "SELECT version, transaction_hash FROM ledger_entries WHERE did = :did ORDER BY version DESC LIMIT 1"
_RECORDED = f"{_COLUMNS} WHERE did = :did AND version = :version AND transaction_hash = :transaction_hash"
_AFTER = f"{_COLUMNS} WHERE sequence > :sequence ORDER BY sequence LIMIT :limit"


class Tip(Struct, frozen=True):
    """The newest entry as the open commit ``group`` sees it, and the number of the block that the commit makes."""

    group: int
    block_number: int
    sequence: int
    recorded_at: int
    link: bytes


class SqlLedger:
    """See ``ExaminableLedger``. ``database`` is closed with the ledger, unless it ``is_shared`` with the store."""

    anchor_ledger_name = "sql"

    def __init__(self, database: Database, clock: Clock, *, is_shared: bool = False) -> None:
        self._database, self._is_shared = database, is_shared
        self.is_embedded = database.dialect == "sqlite"
        self._clock = clock
        self._tip = Tip(0, 0, 0, 0, chain.GENESIS)
        self._tip_sql = _TIP.format(clock="NULL" if self.is_embedded else "clock_timestamp()")

    @classmethod
    def open(
        cls, data_dir: Path, database_url: str | None, *, clock: Clock, shared: Database | None = None, **opening: Any
    ) -> SqlLedger:
        """Open the file, the server, or ``shared``, the store's database on that server. ``opening`` is for ``open_database``. Raises
        ``DatabaseError``: no start without it."""
        path = data_dir / "ledger.sqlite"
        database = shared or open_database(database_url, path, writer_lock=_LOCK, **opening)
        migrate(database, "identity_ledger_sql.migrations", "ledger_")
        return cls(database, clock, is_shared=shared is not None)

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        transaction_hash = chain.transaction_hash(did, expected_version + 1, entry)
        details: dict[str, JsonValue] = {"did": did, "transactionHash": transaction_hash.hex()}
        try:
            return await self._write(
                BatchJob(self._append, (did, entry, expected_version + 1, transaction_hash)), details
            )
        except LedgerUnavailable as error:
            version = expected_version + 1
            receipt = await self._look_up({"did": did, "version": version, "transaction_hash": transaction_hash}, error)
            if receipt is None:
                raise
            return receipt

    async def _look_up(self, wanted: dict[str, Any], error: LedgerUnavailable) -> Receipt | None:
        """Return the receipt of an append whose commit broke; ``error.details.outcome`` states what is known if the
        entry is not there.

        Asked by a durable write behind the lock of the head: the holder of that lock has no commit before it that is still on
        its way, and on a server with a standby the answer has reached the standby.
        """
        if isinstance(error.__cause__, DatabaseClosed):
            error.details["outcome"] = "not recorded"
            return None
        error.details["outcome"] = "unknown"
        if isinstance(error.__cause__, NotReplicated):
            return None
        with contextlib.suppress(TimeoutError, DatabaseClosed):
            async with asyncio.timeout(_LOOK_UP_SECONDS):
                found = await self._find_with_retries(wanted)
                error.details["outcome"] = "not recorded"
                return found
        return None

    async def _find_with_retries(self, wanted: dict[str, Any]) -> Receipt | None:
        while True:
            try:
                return await self._database.write(lambda transaction: self._find(transaction, wanted))
            except DatabaseClosed:
                raise
            except DatabaseError:
                await asyncio.sleep(_LOOK_AGAIN_SECONDS)

    def _find(self, transaction: Transaction, wanted: dict[str, Any]) -> Receipt | None:
        if self._database.dialect == "postgresql":
            transaction.execute(_TOUCH)
        found = _lines(transaction, _RECORDED, wanted)
        return found[0].receipt if found else None

    async def _write(self, job: Callable[[Transaction], T], details: dict[str, JsonValue]) -> T:
        try:
            return await self._database.write(job)
        except Overloaded:
            raise
        except DatabaseMismatch as error:
            raise StorageMismatch(details=details) from error
        except DatabaseError as error:
            raise failures.unavailable(error, details) from error

    def _append(self, transaction: Transaction, wanted: Sequence[Wanted]) -> list[Receipt]:
        """Put entries behind the newest one. Raises ``VersionConflict`` where one does not follow the newest of its DID; of several
        it is only known that there is one, and each is run again by itself."""
        tip = self._tip if self._tip.group == transaction.group else self._new_block(transaction)
        require_steady(self._clock, clock := self._clock.now())
        now, block = (clock - EPOCH) // MICROSECOND, tip.block_number
        rows, sequence, at, link = list[Row](), tip.sequence, tip.recorded_at, tip.link
        for did, entry, version, transaction_hash in wanted:
            # Strictly increasing, also when the clock steps back.
            sequence, at = sequence + 1, max(now, at + 1)
            link = chain.link(link, sequence, block, at, transaction_hash)
            rows.append((sequence, did, version, entry, transaction_hash, block, at, link))
        if all(row[2] == 1 for row in rows):
            made = transaction.executemany(_INSERT_FIRST, rows)
        else:
            made = transaction.executemany(_INSERT_NEXT, [(*row, row[2] - 1, row[1]) for row in rows])
        if made.rowcount != len(rows):
            did = wanted[0][0]
            found = transaction.execute(_VERSION, {"did": did}).fetchone()[0] or 0
            raise VersionConflict(details={"did": did, "versionId": found})
        self._tip = Tip(transaction.group, block, sequence, at, link)
        return [Receipt(row[4].hex(), block, row[0], EPOCH + row[6] * MICROSECOND) for row in rows]

    def _new_block(self, transaction: Transaction) -> Tip:
        """Return the tip that the first append of a commit stands on. Raises ``LedgerUnavailable`` where the clock has jumped ahead."""
        if self._is_shared:
            transaction.execute(_LOCK)
        server, head, recorded_at, link = self._tip_of(transaction)
        require_steady(self._clock, self._clock.now(), server=server)
        return Tip(transaction.group, head.block_number + 1, head.sequence, recorded_at, link)

    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        """See ``AnchoringLedger.submit_anchor``. Confirmed on return."""
        return await self._write(lambda transaction: self._anchor(transaction, "anchor", root, size), {})

    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        return await self._read(lambda transaction: anchors.find(transaction, "anchor", root))

    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        """See ``AnchoringLedger.revoke_leaf``. Confirmed on return."""
        return await self._write(lambda transaction: self._anchor(transaction, "revocation", leaf, 0), {})

    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        return await self._read(lambda transaction: anchors.find(transaction, "revocation", leaf))

    def _anchor(self, transaction: Transaction, kind: anchors.Kind, digest: bytes, size: int) -> AnchorTransaction:
        tip = self._tip = self._tip if self._tip.group == transaction.group else self._new_block(transaction)
        now = (self._clock.now() - EPOCH) // MICROSECOND
        return anchors.find(transaction, kind, digest) or anchors.insert(
            transaction, kind, digest, size, block_number=tip.block_number, entry_link=tip.link, now=now
        )

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        if limit is not None:
            return _entries(await self._rows(_OF_DID, {"did": did, "after": after, "limit": limit}))
        return await self._read(lambda reading: _lines(reading, _OF_DID, {"did": did, "after": after, "limit": _ALL}))

    async def log_size(self, did: str) -> LogSize:
        return LogSize(*(await self._rows(_SIZE, {"did": did}))[0])

    async def newest(self, did: str) -> NewestEntry | None:
        rows = await self._rows(_NEWEST, {"did": did})
        return NewestEntry(rows[0][0], bytes(rows[0][1]).hex()) if rows else None

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        return await self._read(lambda transaction: _lines(transaction, _AFTER, {"sequence": sequence, "limit": limit}))

    async def head(self) -> LedgerHead:
        """See ``LedgerBackend.head``. Raises ``StorageMismatch`` where the file was replaced: its readers would not notice."""
        self._database.require_in_place()
        return await self._read(lambda transaction: self._tip_of(transaction)[1])

    def _tip_of(self, transaction: Transaction) -> tuple[datetime | None, LedgerHead, int, bytes]:
        """Return the time of the server, the head, and the time and link of the newest entry. Blocks are counted over entries and
        anchors."""
        server, anchored, *newest = transaction.execute(self._tip_sql).fetchone()
        sequence, block, recorded_at, link = (0, 0, 0, chain.GENESIS) if newest[0] is None else newest
        return server, LedgerHead(sequence, max(block, anchored)), recorded_at, bytes(link)

    async def _read(self, job: Callable[[Transaction], T]) -> T:
        try:
            return await self._database.read(job)
        except StorageMismatch:
            raise
        except DatabaseError as error:
            raise failures.unavailable(error, {}) from error

    async def _rows(self, sql: str, parameters: dict[str, Any]) -> list[Any]:
        try:
            return await self._database.look_up(sql, parameters)
        except StorageMismatch:
            raise
        except DatabaseError as error:
            raise failures.unavailable(error, {}) from error

    async def examine(self, kind: Literal["entries", "anchors"], after: int, limit: int) -> Examination:
        """See ``ExaminableLedger.examine``: places without gap, hashes, links, times and blocks in order."""
        look = examination.entries if kind == "entries" else examination.anchored
        return await self._read(lambda transaction: look(transaction, after, limit))

    async def close(self) -> None:
        """Finish the pending appends and close the database. A second time is no error."""
        if not self._is_shared:
            await self._database.close()


def _lines(transaction: Transaction, sql: str, parameters: dict[str, Any]) -> tuple[LedgerEntry, ...]:
    return _entries(transaction.execute(sql, parameters).fetchall())


def _entries(rows: list[Any]) -> tuple[LedgerEntry, ...]:
    return tuple(
        LedgerEntry(did, version, bytes(entry), Receipt(bytes(digest).hex(), block, sequence, EPOCH + at * MICROSECOND))
        for did, version, entry, digest, block, sequence, at in rows
    )
