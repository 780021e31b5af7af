"""The two ways in which what somebody shows is no proof.

The Merkle tree of RFC 6962 §2.1: leaves, nodes, and the frontier from which a tree grows.

Hashes are 32 octets. A frontier is what an append needs of a tree of any size: the roots of its complete subtrees,
largest first, at most one for each bit of the size.

What is in the tree: one leaf for each entry of the ledger (README.md has the form and the reasons).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from identity_core.codec import times
from identity_core.values import value_class


class Malformed(ValueError):
    """It is not in the form of its specification, so that nothing could be checked."""


class Refuted(Exception):
    """It was checked and is wrong."""


HASH_BYTES: Final = 32
EMPTY_ROOT: Final = hashlib.sha256(b"").digest()

_sha256 = hashlib.sha256


def leaf_hash(leaf: bytes) -> bytes:
    """SHA-256 over 0x00 and the leaf."""
    return _sha256(b"\x00" + leaf).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """SHA-256 over 0x01 and both children."""
    return _sha256(b"\x01" + left + right).digest()


def complete_root(hashes: bytes) -> bytes:
    """The root over concatenated hashes whose number is a power of two."""
    while len(hashes) > HASH_BYTES:
        pairs = range(0, len(hashes), 2 * HASH_BYTES)
        hashes = b"".join([_sha256(b"\x01" + hashes[at : at + 64]).digest() for at in pairs])
    return hashes


@value_class
class Frontier:
    """A tree of ``size`` leaves by its ``peaks``, the roots of its complete subtrees from left to right."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    @classmethod
    def decode(cls, size: int, octets: bytes) -> Frontier:
        """From its concatenated peaks. Raises ``Malformed`` when their number is not that of the size's bits."""
        if len(octets) != size.bit_count() * HASH_BYTES:
            raise Malformed(f"a tree of {size} leaves has {size.bit_count()} peaks")
        return cls(size, tuple(octets[at : at + HASH_BYTES] for at in range(0, len(octets), HASH_BYTES)))

    def encode(self) -> bytes:
        """The concatenated peaks."""
        return b"".join(self.peaks)

    def appended(self, hashes: Iterable[bytes], *, height: int = 0) -> Frontier:
        """The tree with more leaves; with ``height`` more complete subtrees of 2^height leaves each, for a tree whose size
        is a multiple of that."""
        size, step, peaks = self.size >> height, 1 << height, list(self.peaks)
        if size * step != self.size:
            raise ValueError("a subtree starts at a multiple of its size")
        for one in hashes:
            peaks.append(one)
            size += 1
            # As many trailing zero bits, as many pairs of equal subtrees to join.
            for _ in range((size & -size).bit_length() - 1):
                right = peaks.pop()
                peaks[-1] = node_hash(peaks[-1], right)
        return Frontier(size * step, tuple(peaks))

    @property
    def root(self) -> bytes:
        """The tree's hash."""
        if not self.peaks:
            return EMPTY_ROOT
        root = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            root = node_hash(peak, root)
        return root


TAG: Final = b"identity-ledger-leaf/v1"
MAX_LEAF: Final = 65_535
"""Octets: an entry of a bundle has its length in two octets (C2SP tlog-tiles)."""

_HEAD: Final = re.compile(
    rb"identity-ledger-leaf/v1\n"
    rb"sequence ([1-9][0-9]{0,18})\n"
    rb"transaction ([0-9a-f]{64})\n"
    rb"block ([1-9][0-9]{0,18})\n"
    rb"recorded ([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z)\n"
    rb"version ([1-9][0-9]{0,18})\n"
    rb"did ([^\n]+)\n"
    rb"\n"
)
_RECEIPT: Final = re.compile(rb"transaction ([0-9a-f]{64})\nblock ([1-9][0-9]{0,18})\nrecorded ([0-9T:.-]{26}Z)\n")


class Head(NamedTuple):
    """The lines before the entry, as an auditor compares them: ``recorded`` has one width, so it sorts as text."""

    sequence: int
    transaction: bytes
    block: int
    recorded: bytes
    version: int
    did: bytes
    entry_at: int


def read_head(octets: bytes) -> Head:
    """The head of a leaf. Raises ``Malformed``."""
    found = _HEAD.match(octets)
    if found is None:
        raise Malformed("not a leaf of a ledger")
    sequence, transaction, block, recorded, version, did = found.groups()
    return Head(int(sequence), transaction, int(block), recorded, int(version), did, found.end())


@value_class
class LogLeaf:
    """One entry of the ledger with its receipt. ``transaction_hash`` is lower-case hex, ``recorded_at`` aware UTC."""

    sequence: int
    transaction_hash: str
    block_number: int
    recorded_at: datetime
    did: str
    version: int
    entry: bytes

    @property
    def index(self) -> int:
        """Its place in the tree, from 0."""
        return self.sequence - 1

    @property
    def receipt(self) -> bytes:
        """The lines that a reader of the DID's log lacks, beside the place: what a proof carries as ``extra``."""
        recorded = times.printed_exactly(self.recorded_at)
        return f"transaction {self.transaction_hash}\nblock {self.block_number}\nrecorded {recorded}\n".encode()

    def encode(self) -> bytes:
        """The octets that are hashed. Raises ``Malformed`` for a DID of two lines and for an entry that no bundle holds."""
        head = b"%s\nsequence %d\n%sversion %d\ndid %s\n\n"
        octets = head % (TAG, self.sequence, self.receipt, self.version, self.did.encode()) + self.entry
        if "\n" in self.did or len(octets) > MAX_LEAF:
            raise Malformed(f"entry {self.sequence} of the ledger makes no leaf")
        return octets

    @classmethod
    def parse(cls, octets: bytes) -> LogLeaf:
        """From its octets, of which there is one form. Raises ``Malformed``."""
        head = read_head(octets)
        try:
            recorded_at, did = times.parse(head.recorded.decode()), head.did.decode()
        except ValueError as error:
            raise Malformed("the time of a leaf is none, or its DID is no text") from error
        entry = octets[head.entry_at :]
        return cls(head.sequence, head.transaction.decode(), head.block, recorded_at, did, head.version, entry)

    @classmethod
    def from_receipt(cls, receipt: bytes, *, index: int, did: str, version: int, entry: bytes) -> LogLeaf:
        """From what a proof carries and a reader of the log knows. Raises ``Malformed``."""
        found = _RECEIPT.fullmatch(receipt)
        if found is None:
            raise Malformed("the proof carries no receipt")
        try:
            recorded_at = times.parse(found[3].decode())
        except ValueError as error:
            raise Malformed("the time of the receipt is none") from error
        return cls(index + 1, found[1].decode(), int(found[2]), recorded_at, did, version, entry)
