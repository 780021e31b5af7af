"""The Merkle tree of RFC 6962 §2.1: leaves, nodes, and the frontier from which a tree grows; the two errors of this library.

Hashes are 32 bytes. A frontier is what an append needs of a tree of any size: the roots of its complete subtrees,
largest first, at most one for each bit of the size.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final


class Malformed(ValueError):
    """An input that is not in the form of its specification, so that it cannot be checked."""


class Refuted(Exception):
    """A checked input that is wrong."""


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
    """Return the root over concatenated hashes whose number is a power of two."""
    while len(hashes) > HASH_BYTES:
        pairs = range(0, len(hashes), 2 * HASH_BYTES)
        hashes = b"".join([_sha256(b"\x01" + hashes[at : at + 64]).digest() for at in pairs])
    return hashes


@dataclass(frozen=True, slots=True)
class Frontier:
    """A tree of ``size`` leaves by its ``peaks``, the roots of its complete subtrees from left to right."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    @classmethod
    def decode(cls, size: int, data: bytes) -> Frontier:
        """Decode the concatenated peaks. Raises ``Malformed`` when their number is not that of the size's bits."""
        if len(data) != size.bit_count() * HASH_BYTES:
            raise Malformed(f"a tree of {size} leaves has {size.bit_count()} peaks")
        return cls(size, tuple(data[at : at + HASH_BYTES] for at in range(0, len(data), HASH_BYTES)))

    def encode(self) -> bytes:
        """Return the concatenated peaks."""
        return b"".join(self.peaks)

    def appended(self, hashes: Iterable[bytes], *, height: int = 0) -> Frontier:
        """Return the tree with more leaves; with ``height`` more complete subtrees of 2^height leaves each, for a tree whose size
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
