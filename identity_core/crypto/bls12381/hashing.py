"""Hashing to scalars: RFC 9380 §5.3.1 (expand_message_xmd with SHA-256) and the BBS draft's hash_to_scalar.

Hashing to points is each backend's own (``Curve.hash_to_g1``).
"""

from __future__ import annotations

import hashlib
from typing import Final

from identity_core.crypto.bls12381.backend import ORDER, checked_dst

EXPAND_OCTETS: Final = 48
"""ceil((ceil(log2(r)) + 128) / 8): the reduction modulo r is then within 2^-128 of uniform."""

_DIGEST_OCTETS: Final = 32
_BLOCK_OCTETS: Final = 64
_BLOCK_OF_ZEROS: Final = bytes(_BLOCK_OCTETS)


def expand_message_xmd(message: bytes, dst: bytes, length: int) -> bytes:
    """``length`` octets, 1 to 8,160, from ``message`` under the tag ``dst`` of 1 to 255 octets; else ``ValueError``."""
    blocks = -(-length // _DIGEST_OCTETS)
    if not 1 <= blocks <= 255:
        raise ValueError("expand_message_xmd gives 1 to 8,160 octets")
    tag = checked_dst(dst) + bytes([len(dst)])
    first = hashlib.sha256(_BLOCK_OF_ZEROS + message + length.to_bytes(2, "big") + b"\x00" + tag).digest()
    block = hashlib.sha256(first + b"\x01" + tag).digest()
    output = block
    for number in range(2, blocks + 1):
        mixed = (int.from_bytes(first, "big") ^ int.from_bytes(block, "big")).to_bytes(_DIGEST_OCTETS, "big")
        block = hashlib.sha256(mixed + bytes([number]) + tag).digest()
        output += block
    return output[:length]


def hash_to_scalar(message: bytes, dst: bytes) -> int:
    """A scalar, 0 to r - 1 (draft, "Hash to Scalar")."""
    return int.from_bytes(expand_message_xmd(message, dst, EXPAND_OCTETS), "big") % ORDER
