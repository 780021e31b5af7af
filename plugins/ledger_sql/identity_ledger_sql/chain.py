"""The two hashes of an entry.

The *transaction hash* covers the content, and neither time nor place, so that a caller knows it before the answer of an append: a lost
answer can be looked up. The *link* chains entry to entry, with the place and the time that the ledger gave it; the link of a block's last
entry stands for everything up to it.
"""

from __future__ import annotations

import hashlib

GENESIS = bytes(32)

_TRANSACTION = b"identity-ledger-sql transaction v1\n"
_LINK = b"identity-ledger-sql link v1\n"
_ANCHOR = b"identity-ledger-sql anchor v1\n"
_ANCHOR_LINK = b"identity-ledger-sql anchor link v1\n"


def transaction_hash(did: str, version: int, entry: bytes) -> bytes:
    """SHA-256 over the domain tag, the length of the DID (4 bytes), the DID, the version (8 bytes) and the entry."""
    name = did.encode()
    return hashlib.sha256(
        b"".join((_TRANSACTION, len(name).to_bytes(4, "big"), name, version.to_bytes(8, "big"), entry))
    ).digest()


def link(previous: bytes, sequence: int, block_number: int, recorded_at: int, transaction: bytes) -> bytes:
    """SHA-256 over the domain tag, the link before, three integers of 8 bytes and the transaction hash."""
    return _linked(_LINK + previous, sequence, block_number, recorded_at, transaction)


def anchor_hash(kind: str, digest: bytes, size: int) -> bytes:
    """SHA-256 over the domain tag, ``anchor`` or ``revocation``, a zero byte, the size (8 bytes) and the digest."""
    return hashlib.sha256(b"".join((_ANCHOR, kind.encode(), b"\0", size.to_bytes(8, "big"), digest))).digest()


def anchor_link(
    previous: bytes, entry_link: bytes, position: int, block_number: int, recorded_at: int, transaction: bytes
) -> bytes:
    """SHA-256 over the domain tag, the anchor's link before, the link of the newest entry (zero when there is none), three
    integers of 8 bytes and the anchor's transaction hash."""
    return _linked(_ANCHOR_LINK + previous + entry_link, position, block_number, recorded_at, transaction)


def _linked(before: bytes, place: int, block_number: int, recorded_at: int, transaction: bytes) -> bytes:
    numbers = place.to_bytes(8, "big"), block_number.to_bytes(8, "big"), recorded_at.to_bytes(8, "big", signed=True)
    return hashlib.sha256(b"".join((before, *numbers, transaction))).digest()
