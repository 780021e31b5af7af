"""Appends to one table, many to a commit.

A block is one commit: everything that one writer had waiting. Each append is a job of the shared writer, so a version
conflict fails alone; the place in the chain is handed from job to job within a commit and read from the table at the
start of the next. Left out on purpose: the Merkle tree and its proofs, which stand above every ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from identity_core.database import (
    Database,
    DatabaseError,
    DatabaseOverloaded,
    Transaction,
    migrate,
    open_database,
)
from identity_core.domain.errors import LedgerUnavailable, Overloaded, VersionConflict
from identity_core.ports.clock import Clock
from identity_core.ports.ledger import LedgerEntry, LedgerHead, Receipt
from identity_ledger_sql import chain

T = TypeVar("T")

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

_LOCK = "SELECT id FROM ledger_head WHERE id = 1 FOR UPDATE"
_TIP = "SELECT sequence, block_number, recorded_at, link FROM ledger_entries ORDER BY sequence DESC LIMIT 1"
_VERSION = "SELECT max(version) FROM ledger_entries WHERE did = :did"
_INSERT = """
INSERT INTO ledger_entries (sequence, did, version, entry, transaction_hash, block_number, recorded_at, link)
SELECT :sequence, :did, :version, :entry, :transaction_hash, :block_number, :recorded_at, :link
WHERE :expected = (SELECT coalesce(max(version), 0) FROM ledger_entries WHERE did = :did)
"""
_COLUMNS = "SELECT did, version, entry, transaction_hash, block_number, sequence, recorded_at FROM ledger_entries"
_OF_DID = f"{_COLUMNS} WHERE did = :did ORDER BY version"
_AFTER = f"{_COLUMNS} WHERE sequence > :sequence ORDER BY sequence LIMIT :limit"


@dataclass(frozen=True, slots=True)
class Tip:
    """The newest entry as the open commit ``group`` sees it."""

    group: int
    block_number: int
    sequence: int
    recorded_at: int
    link: bytes


class SqlLedger:
    """See ``LedgerBackend``. ``database`` is closed with the ledger."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._tip = Tip(0, 0, 0, 0, chain.GENESIS)

    @classmethod
    def open(cls, data_dir: Path, database_url: str | None, *, clock: Clock, processes: int) -> SqlLedger:
        """The ledger in ``data_dir / ledger.sqlite`` or on the server. Raises ``DatabaseError``: no start without it."""
        database = open_database(database_url, data_dir / "ledger.sqlite", processes=processes)
        migrate(database, "identity_ledger_sql.migrations", "ledger_")
        return cls(database, clock)

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        """See ``LedgerBackend.append``."""
        transaction_hash = chain.transaction_hash(did, expected_version + 1, entry)
        try:
            return await self._database.write(
                lambda transaction: self._append(transaction, did, entry, expected_version, transaction_hash)
            )
        except DatabaseOverloaded as error:
            raise Overloaded(details={"retryAfter": 1}) from error
        except DatabaseError as error:
            # The outcome may be unknown; the hash tells whoever asks again what to look for.
            raise LedgerUnavailable(details={"did": did, "transactionHash": transaction_hash.hex()}) from error

    def _append(
        self, transaction: Transaction, did: str, entry: bytes, expected_version: int, transaction_hash: bytes
    ) -> Receipt:
        tip = self._tip if self._tip.group == transaction.group else self._new_block(transaction)
        sequence = tip.sequence + 1
        # Strictly increasing, also when the clock steps back.
        recorded_at = max((self._clock.now() - EPOCH) // MICROSECOND, tip.recorded_at + 1)
        link = chain.link(tip.link, sequence, tip.block_number, recorded_at, transaction_hash)
        row = {
            "sequence": sequence,
            "did": did,
            "expected": expected_version,
            "version": expected_version + 1,
            "entry": entry,
            "transaction_hash": transaction_hash,
            "block_number": tip.block_number,
            "recorded_at": recorded_at,
            "link": link,
        }
        if transaction.execute(_INSERT, row).rowcount != 1:
            found = transaction.execute(_VERSION, row).fetchone()[0] or 0
            raise VersionConflict(details={"did": did, "versionId": found})
        self._tip = Tip(transaction.group, tip.block_number, sequence, recorded_at, link)
        return Receipt(transaction_hash.hex(), tip.block_number, sequence, EPOCH + recorded_at * MICROSECOND)

    def _new_block(self, transaction: Transaction) -> Tip:
        """The tip that the first append of a commit stands on: nobody else can append before the commit."""
        if self._database.dialect == "postgresql":
            transaction.execute(_LOCK).fetchone()
        row = transaction.execute(_TIP).fetchone()
        if row is None:
            return Tip(transaction.group, 1, 0, 0, chain.GENESIS)
        sequence, block_number, recorded_at, link = row
        return Tip(transaction.group, block_number + 1, sequence, recorded_at, bytes(link))

    async def entries(self, did: str) -> Sequence[LedgerEntry]:
        """See ``LedgerBackend.entries``."""
        return await self._read(lambda transaction: _lines(transaction, _OF_DID, {"did": did}))

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        """See ``LedgerBackend.entries_after``."""
        return await self._read(lambda transaction: _lines(transaction, _AFTER, {"sequence": sequence, "limit": limit}))

    async def head(self) -> LedgerHead:
        """See ``LedgerBackend.head``."""
        row = await self._read(lambda transaction: transaction.execute(_TIP).fetchone())
        return LedgerHead(0, 0) if row is None else LedgerHead(row[0], row[1])

    async def _read(self, job: Callable[[Transaction], T]) -> T:
        try:
            return await self._database.read(job)
        except DatabaseError as error:
            raise LedgerUnavailable from error

    async def close(self) -> None:
        """Finishes the appends that wait and closes the database. A second time is no error."""
        await self._database.close()


def _lines(transaction: Transaction, sql: str, parameters: dict[str, Any]) -> tuple[LedgerEntry, ...]:
    return tuple(
        LedgerEntry(did, version, bytes(entry), Receipt(bytes(digest).hex(), block, sequence, EPOCH + at * MICROSECOND))
        for did, version, entry, digest, block, sequence, at in transaction.execute(sql, parameters).fetchall()
    )
