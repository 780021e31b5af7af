"""The local index of the contract's entries, and the cursor: up to which block the chain has been read into it.

Filled from confirmed events only. When the chain takes blocks back that were confirmed, the cursor goes back and the
entries stay until the chain has other entries instead: our own transactions are then sent again.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from msgspec import Struct

from identity_core.database import Transaction
from identity_core.ports.ledger import LedgerEntry, LedgerHead, LogSize, Receipt
from identity_ledger_evm.contract import Item

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)

_START = """
INSERT INTO evm_cursor (id, chain_id, contract, block_number, block_hash, sequence, is_read)
VALUES (1, :chain_id, :contract, :block_number, :block_hash, 0, 0) ON CONFLICT DO NOTHING
"""
_OWNER = "SELECT chain_id, contract FROM evm_cursor WHERE id = 1"
_CURSOR = "SELECT block_number, block_hash, sequence FROM evm_cursor WHERE id = 1"
_IS_READ = "SELECT is_read FROM evm_cursor WHERE id = 1"
_END_FIRST_READ = "UPDATE evm_cursor SET is_read = 1 WHERE id = 1"
_MOVE = "UPDATE evm_cursor SET block_number = :number, block_hash = :hash, sequence = :sequence WHERE id = 1"
_COLUMNS = "SELECT did, version, entry, transaction_hash, block_number, sequence, recorded_at FROM evm_entries"
_OF_DID = f"{_COLUMNS} WHERE did = :did AND version > :after ORDER BY version LIMIT :limit"
_SIZE = "SELECT count(*), coalesce(sum(length(entry)), 0) FROM evm_entries WHERE did = :did"
# What a limit can hold at most, on either database.
_ALL = 2**63 - 1
_AFTER = f"{_COLUMNS} WHERE sequence > :sequence ORDER BY sequence LIMIT :limit"
_AT = f"{_COLUMNS} WHERE sequence = :sequence"
_BY_TRANSACTION = """
SELECT e.sequence, e.entry FROM evm_entries e JOIN evm_attempts a ON a.hash = e.transaction_hash
WHERE e.did = :did AND e.version = :version AND a.transaction_id = :transaction
"""
_HEAD = "SELECT sequence, block_number FROM evm_entries ORDER BY sequence DESC LIMIT 1"
_VERSION = "SELECT coalesce(max(version), 0) FROM evm_entries WHERE did = :did"
_UP_TO = "SELECT coalesce(max(sequence), 0) FROM evm_entries WHERE block_number <= :number"
_BEFORE = "SELECT recorded_at FROM evm_entries WHERE sequence = :sequence - 1"
_REPLACE = "DELETE FROM evm_entries WHERE sequence >= :sequence"
_INSERT = """
INSERT INTO evm_entries (sequence, did, version, entry, transaction_hash, block_number, recorded_at)
VALUES (:sequence, :did, :version, :entry, :transaction_hash, :block_number, :recorded_at)
"""
_SHIFT = """
UPDATE evm_entries SET transaction_hash = :transaction_hash, block_number = :block_number, recorded_at = :recorded_at
WHERE sequence = :sequence
"""


class Cursor(Struct, frozen=True):
    """Everything up to block ``number`` (whose hash was ``hash``; empty before the chain is read) is in the index: the first
    ``sequence`` entries."""

    number: int
    hash: bytes
    sequence: int


class Indexed(Struct, frozen=True):
    """An entry as the chain has it; ``timestamp`` is its block's, in seconds."""

    sequence: int
    item: Item
    transaction_hash: bytes
    block_number: int
    timestamp: int


def start(transaction: Transaction, chain_id: int, contract: str, before: int) -> tuple[int, str]:
    """Make the cursor of an empty index, before the block ``before``; whose index this is."""
    row = {"chain_id": chain_id, "contract": contract, "block_number": before - 1, "block_hash": b""}
    transaction.execute(_START, row)
    owner: tuple[int, str] = tuple(transaction.execute(_OWNER).fetchone())
    return owner


def cursor(transaction: Transaction) -> Cursor:
    """Return where the index ends."""
    number, block_hash, sequence = transaction.execute(_CURSOR).fetchone()
    return Cursor(number, bytes(block_hash), sequence)


def was_read(transaction: Transaction) -> bool:
    """Return whether the chain was ever read into it to the end; else it is empty, or the beginning alone, whatever the contract has."""
    return bool(cursor(transaction).hash) and bool(transaction.execute(_IS_READ).fetchone()[0])


def end_first_read(transaction: Transaction) -> None:
    """Note that the index has everything that was confirmed once."""
    transaction.execute(_END_FIRST_READ)


def advance(transaction: Transaction, entries: Sequence[Indexed], to: Cursor) -> None:
    """Record what the chain has between the cursor and ``to``. Known entries get the block where they now stand."""
    for entry in entries:
        _record(transaction, entry)
    transaction.execute(_MOVE, {"number": to.number, "hash": to.hash, "sequence": to.sequence})


def rewind(transaction: Transaction, number: int, block_hash: bytes) -> None:
    """Take the cursor back to the end of a block."""
    sequence = transaction.execute(_UP_TO, {"number": number}).fetchone()[0]
    transaction.execute(_MOVE, {"number": number, "hash": block_hash, "sequence": sequence})


def _record(transaction: Transaction, entry: Indexed) -> None:
    item = entry.item
    before = transaction.execute(_BEFORE, {"sequence": entry.sequence}).fetchone()
    # A block's time is in seconds and many entries stand in one: told apart by the microsecond, in their order.
    recorded_at = max(entry.timestamp * 1_000_000, before[0] + 1 if before else 0)
    row = {
        "sequence": entry.sequence,
        "did": item.did,
        "version": item.expected + 1,
        "entry": item.entry,
        "transaction_hash": entry.transaction_hash,
        "block_number": entry.block_number,
        "recorded_at": recorded_at,
    }
    known = transaction.execute(_AT, row).fetchone()
    if known is not None and (known[0], known[1], bytes(known[2])) == (item.did, item.expected + 1, item.entry):
        transaction.execute(_SHIFT, row)
        return
    # After a deep reorganisation the chain may have another story to tell from here on; it is the one that counts.
    transaction.execute(_REPLACE, row)
    transaction.execute(_INSERT, row)


def version(transaction: Transaction, did: str) -> int:
    """Return how many entries a DID has."""
    found: int = transaction.execute(_VERSION, {"did": did}).fetchone()[0]
    return found


def recorded_by(transaction: Transaction, item: Item, transaction_id: int) -> int | None:
    """Return the sequence of this entry, if it was recorded by any signature of this transaction of ours. The same bytes may have
    been recorded by another process, which then has the receipt.
    """
    row = {"did": item.did, "version": item.expected + 1, "transaction": transaction_id}
    found = transaction.execute(_BY_TRANSACTION, row).fetchone()
    return found[0] if found is not None and bytes(found[1]) == item.entry else None


def receipt(transaction_hash: bytes, block_number: int, sequence: int, recorded_at: int) -> Receipt:
    """Return the content of the columns of a row."""
    return Receipt(bytes(transaction_hash).hex(), block_number, sequence, EPOCH + recorded_at * MICROSECOND)


def of_did(transaction: Transaction, did: str, behind: int, limit: int | None) -> tuple[LedgerEntry, ...]:
    """Return a page of the log of a DID, as ``LedgerBackend.entries`` promises it."""
    page = {"did": did, "after": behind, "limit": _ALL if limit is None else limit}
    return tuple(map(_line, transaction.execute(_OF_DID, page).fetchall()))


def size_of(transaction: Transaction, did: str) -> LogSize:
    """Return how long the log of a DID is."""
    return LogSize(*transaction.execute(_SIZE, {"did": did}).fetchone())


def after(transaction: Transaction, sequence: int, limit: int) -> tuple[LedgerEntry, ...]:
    """Return the entries that follow a sequence number, in their order."""
    return tuple(map(_line, transaction.execute(_AFTER, {"sequence": sequence, "limit": limit}).fetchall()))


def head(transaction: Transaction) -> LedgerHead:
    """Return where the ledger ends."""
    row = transaction.execute(_HEAD).fetchone()
    return LedgerHead(0, 0) if row is None else LedgerHead(*row)


def _line(row: tuple[str, int, bytes, bytes, int, int, int]) -> LedgerEntry:
    did, number, entry, transaction_hash, block, sequence, at = row
    return LedgerEntry(did, number, bytes(entry), receipt(transaction_hash, block, sequence, at))
