"""Roots and revoked leaves: taken over at once, sent one a transaction, confirmed when their event is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct

from identity_core.database import Transaction
from identity_core.ports.ledger import AnchorState, AnchorTransaction

Kind = Literal["anchor", "revocation"]

_ADD = """
INSERT INTO evm_anchors (kind, digest, number, size, state, reason)
SELECT :kind, :digest, coalesce(max(number), 0) + 1, :size, 'waiting', '' FROM evm_anchors WHERE true
ON CONFLICT (kind, digest) DO UPDATE SET state = 'waiting', reason = '' WHERE evm_anchors.state = 'failed'
"""
_FIND = """
SELECT a.state, a.hash, a.block_number, a.reason, t.state, t.hash, t.block_number, a.transaction_id FROM evm_anchors a
LEFT JOIN evm_transactions t ON t.id = a.transaction_id WHERE a.kind = :kind AND a.digest = :digest
"""
_LAST = "SELECT hash FROM evm_attempts WHERE transaction_id = :id ORDER BY number DESC LIMIT 1"
_WAITING = "SELECT kind, digest, size FROM evm_anchors WHERE state = 'waiting' ORDER BY number LIMIT :limit"
_SEND = "UPDATE evm_anchors SET state = 'sent', transaction_id = :id WHERE kind = :kind AND digest = :digest"
_CONFIRM = """
INSERT INTO evm_anchors (kind, digest, number, size, state, hash, block_number, reason)
SELECT :kind, :digest, coalesce(max(number), 0) + 1, :size, 'confirmed', :hash, :block_number, '' FROM evm_anchors WHERE true
ON CONFLICT (kind, digest) DO UPDATE
SET state = 'confirmed', hash = :hash, block_number = :block_number, size = :size, reason = ''
"""
_FAIL = "UPDATE evm_anchors SET state = 'failed', reason = :reason WHERE transaction_id = :id AND state = 'sent'"
_REOPEN = """
UPDATE evm_anchors SET state = CASE WHEN transaction_id IS NULL THEN 'waiting' ELSE 'sent' END, block_number = NULL
WHERE state = 'confirmed' AND block_number > :number
"""


class Waiting(Struct, frozen=True):
    """A digest that was not sent yet."""

    kind: Kind
    digest: bytes
    size: int


class Confirmed(Struct, frozen=True):
    """A digest that the contract recorded in a block."""

    kind: Kind
    digest: bytes
    size: int
    transaction_hash: bytes
    block_number: int


def add(transaction: Transaction, kind: Kind, digest: bytes, size: int) -> AnchorTransaction:
    """Take a digest over, once; one that failed is tried anew."""
    transaction.execute(_ADD, {"kind": kind, "digest": digest, "size": size})
    found = find(transaction, kind, digest)
    return AnchorTransaction("submitted", None, None) if found is None else found


def find(transaction: Transaction, kind: Kind, digest: bytes, trouble: str = "") -> AnchorTransaction | None:
    """Return how far a digest is; ``trouble`` is what keeps transactions from getting into a block now."""
    row = transaction.execute(_FIND, {"kind": kind, "digest": digest}).fetchone()
    if row is None:
        return None
    state, digest_of, block, reason, outgoing_state, outgoing_hash, outgoing_block, number = row
    if state in ("confirmed", "failed"):
        final: AnchorState = state
        return AnchorTransaction(final, _hex(outgoing_hash if digest_of is None else digest_of), block, reason)
    if state == "sent" and outgoing_state in ("mined", "confirmed"):
        return AnchorTransaction("mined", _hex(outgoing_hash), outgoing_block)
    last = transaction.execute(_LAST, {"id": number}).fetchone() if state == "sent" else None
    return AnchorTransaction("submitted", _hex(last[0] if last else None), None, trouble)


def waiting(transaction: Transaction, limit: int) -> Sequence[Waiting]:
    """Return what is to be sent, oldest first."""
    rows = transaction.execute(_WAITING, {"limit": limit}).fetchall()
    return [Waiting(kind, bytes(digest), size) for kind, digest, size in rows]


def sent(transaction: Transaction, one: Waiting, transaction_id: int) -> None:
    """Record that it goes with this transaction."""
    transaction.execute(_SEND, {"kind": one.kind, "digest": one.digest, "id": transaction_id})


def confirm(transaction: Transaction, one: Confirmed) -> None:
    """Note that the contract has the digest, from any sender."""
    row = {"kind": one.kind, "digest": one.digest, "size": one.size, "hash": one.transaction_hash}
    transaction.execute(_CONFIRM, {**row, "block_number": one.block_number})


def fail(transaction: Transaction, transaction_id: int, reason: str) -> None:
    """Note that the transaction was reverted and the contract lacks the digest."""
    transaction.execute(_FAIL, {"id": transaction_id, "reason": reason})


def reopen(transaction: Transaction, number: int) -> None:
    """Confirm again what was confirmed above this block."""
    transaction.execute(_REOPEN, {"number": number})


def _hex(raw: bytes | None) -> str | None:
    return None if raw is None else bytes(raw).hex()
