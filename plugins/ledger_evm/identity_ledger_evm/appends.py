"""Appends that a caller waits for: from *waiting* by *sent* to *recorded*, *refused* or *failed*.

A row lives as long as its caller waits for it. A row that still waits when its time is up is withdrawn, and was certainly not recorded.
The outcome of a sent one is unknown before the chain has decided.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from identity_core.database import Transaction
from identity_core.errors import Overloaded, VersionConflict
from identity_core.ports.ledger import Receipt
from identity_ledger_evm import index
from identity_ledger_evm.contract import Item

MOST_WAITING = 4_096

State = Literal["waiting", "sent", "recorded", "refused", "failed"]

_WAITING = "SELECT count(*) FROM evm_appends WHERE state = 'waiting'"
_INSERT = """
INSERT INTO evm_appends (did, expected, entry, deadline, state, reason)
VALUES (:did, :expected, :entry, :deadline, 'waiting', '') RETURNING id
"""
_ALL_WAITING = "SELECT id FROM evm_appends WHERE state = 'waiting'"
_DECIDED = """
SELECT p.id, p.state, p.found, p.reason, e.transaction_hash, e.block_number, e.sequence, e.recorded_at
FROM evm_appends p LEFT JOIN evm_entries e ON e.sequence = p.sequence
WHERE p.state IN ('recorded', 'refused', 'failed')
"""
_WITHDRAW = "DELETE FROM evm_appends WHERE id = :id AND state = 'waiting'"
_FORGET = "DELETE FROM evm_appends WHERE id = :id AND state <> 'sent'"
_EXPIRE = "DELETE FROM evm_appends WHERE state <> 'sent' AND deadline < :now"
_QUEUE = "SELECT id, did, expected, entry FROM evm_appends WHERE state = 'waiting' ORDER BY id LIMIT :limit"
_STALE = """
SELECT a.id, a.did FROM evm_appends a JOIN evm_entries e ON e.did = a.did AND e.version = a.expected + 1
WHERE a.state = 'waiting'
"""
_BUSY = "SELECT DISTINCT did FROM evm_appends WHERE state = 'sent'"
_SEND = """
UPDATE evm_appends SET state = 'sent', transaction_id = :transaction WHERE id = :id AND state = 'waiting'
"""
_OF_TRANSACTION = "SELECT id, did, expected, entry FROM evm_appends WHERE transaction_id = :id AND state = 'sent'"
_DECIDE = """
UPDATE evm_appends SET state = :state, found = :found, sequence = :sequence, reason = :reason WHERE id = :id
"""
_HASH = """
SELECT a.hash FROM evm_attempts a JOIN evm_appends p ON p.transaction_id = a.transaction_id WHERE p.id = :id
ORDER BY a.number DESC LIMIT 1
"""


class Withdrawn(Exception):
    """An append that was about to be sent is no longer wanted; what was about to be written is undone."""


class Decided(Struct, frozen=True):
    """The outcome of an append: its receipt, or ``found``, the version that refused it, or the ``reason`` of its failure."""

    id: int
    state: State
    receipt: Receipt | None
    found: int
    reason: str


class Queued(Struct, frozen=True):
    """A row that waits."""

    id: int
    item: Item


def add(transaction: Transaction, item: Item, deadline: int) -> int:
    """Queue an append. Raises ``VersionConflict`` when it comes too late or too early already, ``Overloaded``."""
    found = index.version(transaction, item.did)
    if found != item.expected:
        raise VersionConflict(details={"did": item.did, "versionId": found})
    if transaction.execute(_WAITING).fetchone()[0] >= MOST_WAITING:
        raise Overloaded(details={"retryAfter": 1})
    row = {"did": item.did, "expected": item.expected, "entry": item.entry, "deadline": deadline}
    number: int = transaction.execute(_INSERT, row).fetchone()[0]
    return number


def decided(transaction: Transaction) -> list[Decided]:
    """Return all decided outcomes that were not reported yet, of every process."""
    found = []
    for number, state, version, reason, digest, block, sequence, at in transaction.execute(_DECIDED).fetchall():
        where = None if digest is None else index.receipt(digest, block, sequence, at)
        found.append(Decided(number, state, where, version or 0, reason))
    return found


def waiting(transaction: Transaction) -> list[int]:
    """Return all that was not sent yet."""
    return [row[0] for row in transaction.execute(_ALL_WAITING).fetchall()]


def withdraw(transaction: Transaction, number: int) -> bool:
    """Take a row back; False when it is too late for that."""
    return transaction.execute(_WITHDRAW, {"id": number}).rowcount == 1


def forget(transaction: Transaction, number: int) -> None:
    """End the row whose outcome was reported."""
    transaction.execute(_FORGET, {"id": number})


def expire(transaction: Transaction, now: int) -> None:
    """End the rows without a waiting caller."""
    transaction.execute(_EXPIRE, {"now": now})


def last_hash(transaction: Transaction, number: int) -> bytes | None:
    """Return the newest transaction hash of a row that was sent."""
    row = transaction.execute(_HASH, {"id": number}).fetchone()
    return None if row is None else bytes(row[0])


def sendable(transaction: Transaction, *, most: int, most_octets: int) -> Sequence[Queued]:
    """Return what can go into one transaction, oldest first: one append a DID, none of a DID that has one under way."""
    busy = {row[0] for row in transaction.execute(_BUSY).fetchall()}
    chosen: list[Queued] = []
    data = 0
    for number, did, expected, entry in transaction.execute(_QUEUE, {"limit": 4 * most}).fetchall():
        item = Item(did, expected, bytes(entry))
        if did in busy:
            continue
        data += 200 + len(item.entry) + 4 * len(did)
        if chosen and (data > most_octets or len(chosen) == most):
            break
        busy.add(did)
        chosen.append(Queued(number, item))
    return chosen


def has_stale(transaction: Transaction) -> bool:
    """Return whether anything waits that comes too late: its DID has another version by now."""
    return transaction.execute(f"{_STALE} LIMIT 1").fetchone() is not None


def refuse_stale(transaction: Transaction) -> None:
    """Decide what comes too late."""
    for number, did in transaction.execute(_STALE).fetchall():
        _decide(transaction, number, "refused", found=index.version(transaction, did))


def sent(transaction: Transaction, rows: Sequence[Queued], transaction_id: int) -> None:
    """Record that they go with this transaction. Raises ``Withdrawn``."""
    for row in rows:
        named = {"id": row.id, "transaction": transaction_id}
        if transaction.execute(_SEND, named).rowcount != 1:
            raise Withdrawn


def decide(transaction: Transaction, transaction_id: int, failure: str) -> None:
    """Decide the rows of a final transaction; ``failure``: why nothing of it was recorded, or empty."""
    for number, did, expected, entry in transaction.execute(_OF_TRANSACTION, {"id": transaction_id}).fetchall():
        # Asked of the index, because a refusal may mean that an earlier signature of the same transaction went through.
        sequence = index.recorded_by(transaction, Item(did, expected, bytes(entry)), transaction_id)
        if sequence is not None:
            _decide(transaction, number, "recorded", sequence=sequence)
        elif failure:
            _decide(transaction, number, "failed", reason=failure)
        else:
            _decide(transaction, number, "refused", found=index.version(transaction, did))


def _decide(
    transaction: Transaction,
    number: int,
    state: State,
    *,
    found: int | None = None,
    sequence: int | None = None,
    reason: str = "",
) -> None:
    row = {"id": number, "state": state, "found": found, "sequence": sequence, "reason": reason}
    transaction.execute(_DECIDE, row)
