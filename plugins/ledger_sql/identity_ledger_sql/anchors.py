"""Anchors as rows of the ledger's own: confirmed when the commit is through.

They share the blocks of the entries (a block is one commit) and have a chain of links of their own, in which every row also
holds the link of the newest entry. So anyone who keeps a copy of one anchor holds the ledger to everything before it.
"""

from __future__ import annotations

from typing import Literal

from identity_core.database import Transaction
from identity_core.ports.ledger import AnchorTransaction
from identity_ledger_sql import chain

Kind = Literal["anchor", "revocation"]

_FIND = "SELECT transaction_hash, block_number FROM ledger_anchors WHERE kind = :kind AND digest = :digest"
_TIP = "SELECT position, recorded_at, link FROM ledger_anchors ORDER BY position DESC LIMIT 1"
_INSERT = """
INSERT INTO ledger_anchors (position, kind, digest, size, transaction_hash, block_number, recorded_at, link)
VALUES (:position, :kind, :digest, :size, :transaction_hash, :block_number, :recorded_at, :link)
"""


def find(transaction: Transaction, kind: Kind, digest: bytes) -> AnchorTransaction | None:
    """Return the record of ``digest``."""
    row = transaction.execute(_FIND, {"kind": kind, "digest": digest}).fetchone()
    return None if row is None else AnchorTransaction("confirmed", bytes(row[0]).hex(), row[1])


def insert(
    transaction: Transaction, kind: Kind, digest: bytes, size: int, *, block_number: int, entry_link: bytes, now: int
) -> AnchorTransaction:
    """Record a digest that is not there yet. ``now``: microseconds since 1970; times do not go back."""
    position, recorded_at, previous = transaction.execute(_TIP).fetchone() or (0, now, chain.GENESIS)
    recorded_at = max(now, recorded_at)
    transaction_hash = chain.anchor_hash(kind, digest, size)
    link = chain.anchor_link(bytes(previous), entry_link, position + 1, block_number, recorded_at, transaction_hash)
    row = {
        "position": position + 1,
        "kind": kind,
        "digest": digest,
        "size": size,
        "transaction_hash": transaction_hash,
        "block_number": block_number,
        "recorded_at": recorded_at,
        "link": link,
    }
    transaction.execute(_INSERT, row)
    return AnchorTransaction("confirmed", transaction_hash.hex(), block_number)
