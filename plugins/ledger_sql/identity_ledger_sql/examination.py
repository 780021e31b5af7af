"""The rows of the ledger held against the chains over them: what anyone who writes to the database past the service would have to make
anew, from the row on that was changed to the last."""

from __future__ import annotations

from typing import Any, Final

from identity_core.database import Transaction
from identity_core.ports.ledger import Examination
from identity_ledger_sql import chain

_ENTRIES: Final = """
SELECT sequence, did, version, entry, transaction_hash, block_number, recorded_at, link FROM ledger_entries
WHERE sequence >= :after ORDER BY sequence LIMIT :limit
"""
_ANCHORS: Final = """
SELECT position, kind, digest, size, transaction_hash, block_number, recorded_at, link FROM ledger_anchors
WHERE position >= :after ORDER BY position LIMIT :limit
"""
_NEAREST: Final = """
SELECT sequence, block_number FROM ledger_entries WHERE sequence <= :place ORDER BY sequence DESC LIMIT 1
"""
_LINKS: Final = """
SELECT link FROM ledger_entries WHERE sequence >= :first AND block_number <= :block ORDER BY sequence LIMIT 1025
"""
_LAST: Final = "SELECT coalesce(max(sequence), 0) FROM ledger_entries"


def entries(transaction: Transaction, after: int, limit: int) -> Examination:
    """Examine entries."""
    rows = transaction.execute(_ENTRIES, {"after": after, "limit": limit + 1}).fetchall()
    faults: list[str] = []
    before: tuple[int, int, int, bytes] = (0, 0, 0, chain.GENESIS)
    if rows and rows[0][0] == after:
        first = rows.pop(0)
        before = (after, first[5], first[6], _octets(first[7]))
    elif after:
        faults.append(f"entry {after} is missing")
        before = (after, 0, 0, b"")
    last = after
    for sequence, did, version, entry, digest, block, at, link in rows[:limit]:
        says = list[str]()
        place, block_before, at_before, link_before = before
        if sequence != place + 1:
            says.append(
                f"entry {place + 1} is missing"
                if sequence == place + 2
                else f"{place + 1} to {sequence - 1} are missing"
            )
        if not _is_whole(did, version, block, at):
            says.append(f"entry {sequence} has columns of another type")
        else:
            if chain.transaction_hash(did, version, _octets(entry)) != _octets(digest):
                says.append(f"entry {sequence} is not the one that its transaction hash is of")
            if link_before and chain.link(link_before, sequence, block, at, _octets(digest)) != _octets(link):
                says.append(f"entry {sequence} does not follow from the one before it")
            if block < block_before or at <= at_before:
                says.append(f"entry {sequence} has a block or a time before that of the entry before it")
        before = (sequence, block if isinstance(block, int) else 0, at if isinstance(at, int) else 0, _octets(link))
        faults += says
        last = sequence
    return Examination(last, tuple(faults))


def anchored(transaction: Transaction, after: int, limit: int) -> Examination:
    """Examine anchors and revocations."""
    rows = transaction.execute(_ANCHORS, {"after": after, "limit": limit + 1}).fetchall()
    faults: list[str] = []
    place, before = after, chain.GENESIS
    if rows and rows[0][0] == after:
        before = _octets(rows.pop(0)[7])
    elif after:
        faults.append(f"anchor {after} is missing")
    for position, kind, digest, size, hash_, block, at, link in rows[:limit]:
        if position != place + 1:
            faults.append(f"anchor {place + 1} is missing")
        place = position
        if not isinstance(kind, str) or not _is_whole(kind, size, block, at):
            faults.append(f"anchor {position} has columns of another type")
        elif chain.anchor_hash(kind, _octets(digest), size) != _octets(hash_):
            faults.append(f"anchor {position} is not the one that its transaction hash is of")
        elif not any(
            chain.anchor_link(before, entry, position, block, at, _octets(hash_)) == _octets(link)
            for entry in _links_at(transaction, block)
        ):
            faults.append(
                f"anchor {position} does not follow from the one before it and from the entries of its moment"
            )
        before = _octets(link)
    return Examination(place, tuple(faults))


def _links_at(transaction: Transaction, block: int) -> list[bytes]:
    """Return the links that were the newest of all entries at some moment of the commit of ``block``: that of the last entry of the
    blocks before, and those of its own."""
    below, above = 0, transaction.execute(_LAST).fetchone()[0] + 1
    while above - below > 1:
        found = transaction.execute(_NEAREST, {"place": (below + above) // 2}).fetchone()
        if found is not None and found[1] >= block:
            above = (below + above) // 2
        else:
            below = (below + above) // 2
    rows = transaction.execute(_LINKS, {"first": below, "block": block}).fetchall()
    return [chain.GENESIS][: not below] + [_octets(row[0]) for row in rows]


def _is_whole(text: Any, number: Any, block: Any, at: Any) -> bool:
    """Return whether the columns can be hashed; SQLite's STRICT tables and a server keep others out."""
    return type(text) is str and type(number) is type(block) is type(at) is int and number >= 0 <= block


def _octets(value: Any) -> bytes:
    return value if type(value) is bytes else value.encode() if isinstance(value, str) else bytes(value)
