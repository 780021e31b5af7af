"""Signed transactions and their nonces: stored before they are sent, kept until the chain has decided, and after.

One row a nonce; the signatures that were given to it are its *attempts*, and any of them may be the one that is mined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from identity_core.database import Transaction
from identity_core.store.records import Table
from identity_ledger_evm.fees import Fees

Kind = Literal["append", "anchor", "revocation", "filler"]
State = Literal["submitted", "mined", "confirmed", "failed"]

_NEXT = "SELECT coalesce(max(nonce), -1) + 1 FROM evm_transactions"
_INSERT = """
INSERT INTO evm_transactions (nonce, kind, data, gas, state, signed_in, reason)
VALUES (:nonce, :kind, :data, :gas, 'submitted', :signed_in, '') RETURNING id
"""
_RENEW = "UPDATE evm_transactions SET nonce = :nonce, signed_in = :signed_in WHERE id = :id"
_BY_HASH = "SELECT transaction_id FROM evm_attempts WHERE hash = :hash"
_STATE = """
UPDATE evm_transactions SET state = :state, hash = :hash, block_number = :block_number, block_hash = :block_hash,
reason = :reason WHERE id = :id
"""
# Mined by a signature with an earlier nonce: the later one is free again, for the next that has to fill the gap.
_NONCE = """
UPDATE evm_transactions SET nonce = (SELECT nonce FROM evm_attempts WHERE hash = :hash)
WHERE id = :id AND NOT EXISTS (
    SELECT 1 FROM evm_transactions t JOIN evm_attempts a ON a.nonce = t.nonce WHERE a.hash = :hash
)
"""
_BLOCKS = """
SELECT DISTINCT block_number, block_hash FROM evm_transactions WHERE state = 'confirmed' AND block_number < :below
ORDER BY block_number DESC LIMIT 1
"""
_BACK = """
UPDATE evm_transactions SET state = 'submitted', block_number = NULL, block_hash = NULL, reason = '', signed_in = :head
"""
_BACK_ONE = f"{_BACK} WHERE id = :id"
_REOPEN = f"{_BACK} WHERE state <> 'submitted' AND block_number > :number RETURNING id"


class Outgoing(Struct, frozen=True):
    """A transaction of ours. ``signed_in`` is the head when it was last signed; the block is where it is mined, if it is."""

    id: int
    nonce: int
    kind: Kind
    data: bytes
    gas: int
    state: State
    signed_in: int
    hash: bytes | None
    block_number: int | None
    block_hash: bytes | None
    reason: str


class Attempt(Struct, frozen=True):
    """One signature."""

    hash: bytes
    nonce: int
    raw: bytes
    fees: Fees


_TRANSACTIONS = Table("evm_transactions", Outgoing)
_OPEN = f"{_TRANSACTIONS.select} WHERE state IN ('submitted', 'mined') ORDER BY nonce"
_FIND = f"{_TRANSACTIONS.select} WHERE id = :id"
_TABLE = Table("evm_attempts", Attempt, spread={"fees": ("most", "tip")}, extra=("transaction_id",))
_ATTEMPTS = f"{_TABLE.select} WHERE transaction_id = :id ORDER BY number DESC"


def open_ones(transaction: Transaction) -> Sequence[Outgoing]:
    """Return the transactions that are not final, in order of nonces."""
    return [_TRANSACTIONS.read(row) for row in transaction.execute(_OPEN).fetchall()]


def find(transaction: Transaction, number: int) -> Outgoing | None:
    """Return one of them."""
    row = transaction.execute(_FIND, {"id": number}).fetchone()
    return None if row is None else _TRANSACTIONS.read(row)


def by_hash(transaction: Transaction, attempt: bytes) -> Outgoing | None:
    """Return the transaction that has this hash or once had it."""
    row = transaction.execute(_BY_HASH, {"hash": attempt}).fetchone()
    return None if row is None else find(transaction, row[0])


def next_nonce(transaction: Transaction) -> int:
    """Return the nonce after all of ours."""
    found: int = transaction.execute(_NEXT).fetchone()[0]
    return found


def attempts(transaction: Transaction, number: int) -> Sequence[Attempt]:
    """Return the signatures of a transaction, the newest first."""
    return [_TABLE.read(row) for row in transaction.execute(_ATTEMPTS, {"id": number}).fetchall()]


def add(transaction: Transaction, kind: Kind, data: bytes, gas: int, signed_in: int, attempt: Attempt) -> int:
    """Return a new transaction with its first signature. Raises ``ConstraintViolated`` when the nonce is taken."""
    row = {"nonce": attempt.nonce, "kind": kind, "data": data, "gas": gas, "signed_in": signed_in}
    number: int = transaction.execute(_INSERT, row).fetchone()[0]
    transaction.execute(_TABLE.insert, _TABLE.write(attempt, transaction_id=number))
    return number


def sign_again(transaction: Transaction, number: int, signed_in: int, attempt: Attempt) -> None:
    """Store another signature, with a higher fee, or with another nonce when a stranger took its own."""
    transaction.execute(_RENEW, {"id": number, "nonce": attempt.nonce, "signed_in": signed_in})
    transaction.execute(_TABLE.insert, _TABLE.write(attempt, transaction_id=number))


def set_state(
    transaction: Transaction,
    number: int,
    state: State,
    *,
    digest: bytes | None = None,
    block_number: int | None = None,
    block_hash: bytes | None = None,
    reason: str = "",
) -> None:
    """Return the recorded answer of the chain about a transaction."""
    row = {"id": number, "state": state, "hash": digest, "block_number": block_number, "block_hash": block_hash}
    transaction.execute(_STATE, {**row, "reason": reason})
    if digest is not None:
        transaction.execute(_NONCE, row)


def block_below(transaction: Transaction, number: int) -> tuple[int, bytes] | None:
    """Return the newest block below ``number`` that has a confirmed transaction of ours, with its hash."""
    row = transaction.execute(_BLOCKS, {"below": number}).fetchone()
    return None if row is None else (row[0], bytes(row[1]))


def back(transaction: Transaction, number: int, head: int) -> None:
    """Its block was undone: the same bytes are sent again, and no higher fee is due for the time before."""
    transaction.execute(_BACK_ONE, {"id": number, "head": head})


def reopen(transaction: Transaction, number: int, head: int) -> int:
    """Send everything above this block again; how many that are."""
    return len(transaction.execute(_REOPEN, {"number": number, "head": head}).fetchall())
