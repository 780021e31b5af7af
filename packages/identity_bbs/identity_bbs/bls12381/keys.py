"""Keys of the type Bls12381G2Key2020 as raw bytes: a secret scalar in 32, big-endian; a compressed point of G2 in 96.

Generation follows the BBS draft ("Key Generation Operations", suite BLS12-381-SHA-256). Multibase and multicodec
prefixes are ``identity_codec.multikey``'s.

Hashing to scalars is RFC 9380 §5.3.1 (expand_message_xmd with SHA-256) and the draft's hash_to_scalar; hashing to points is each backend's
own (``Curve.hash_to_g1``).
"""

from __future__ import annotations

import hashlib
from typing import Final

from identity_bbs.bls12381.backend import G2_OCTETS, ORDER, SCALAR_OCTETS, InvalidPoint, checked_dst
from identity_bbs.bls12381.choice import select

EXPAND_OCTETS: Final = 48
"""ceil((ceil(log2(r)) + 128) / 8): the reduction modulo r is then within 2^-128 of uniform."""

_DIGEST_OCTETS: Final = 32
_BLOCK_OCTETS: Final = 64
_BLOCK_OF_ZEROS: Final = bytes(_BLOCK_OCTETS)


def expand_message_xmd(message: bytes, dst: bytes, length: int) -> bytes:
    """``length`` bytes, 1 to 8,160, from ``message`` under the tag ``dst`` of 1 to 255 bytes; else ``ValueError``."""
    blocks = -(-length // _DIGEST_OCTETS)
    if not 1 <= blocks <= 255:
        raise ValueError("expand_message_xmd gives 1 to 8,160 bytes")
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
    """Return a scalar, 0 to r - 1 (draft, "Hash to Scalar")."""
    return int.from_bytes(expand_message_xmd(message, dst, EXPAND_OCTETS), "big") % ORDER


KEY_DST: Final = b"BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_H2G_HM2S_KEYGEN_DST_"
MIN_KEY_MATERIAL_OCTETS: Final = 32


class InvalidBlsKey(ValueError):
    """Not a key: its length, a scalar outside 1 to r - 1, or no point of the subgroup."""


def generate_secret(key_material: bytes, key_info: bytes = b"") -> bytes:
    """KeyGen of the draft: 32 bytes from at least 32 bytes of secret entropy and at most 65,535 public ones."""
    if len(key_material) < MIN_KEY_MATERIAL_OCTETS:
        raise ValueError(f"key material has at least {MIN_KEY_MATERIAL_OCTETS} bytes")
    if len(key_info) > 0xFFFF:
        raise ValueError("key info has at most 65535 bytes")
    secret = hash_to_scalar(key_material + len(key_info).to_bytes(2, "big") + key_info, KEY_DST)
    if secret == 0:
        raise InvalidBlsKey("the key material gives no key")
    return secret.to_bytes(SCALAR_OCTETS, "big")


def public_key(secret: bytes) -> bytes:
    """SkToPk of the draft; its multiplication takes constant time where the backend has it. Raises ``InvalidBlsKey``."""
    curve = select()
    return curve.g2_to_octets(curve.g2_mul(curve.g2_generator(), secret_scalar(secret)))


def secret_scalar(secret: bytes) -> int:
    """Return the scalar of a raw secret. Raises ``InvalidBlsKey`` unless there are 32 bytes of a number from 1 to r - 1."""
    scalar = int.from_bytes(secret, "big")
    if len(secret) != SCALAR_OCTETS or not 1 <= scalar < ORDER:
        raise InvalidBlsKey(f"a secret key is a number from 1 to r - 1 in {SCALAR_OCTETS} bytes")
    return scalar


def check_public_key(raw: bytes) -> None:
    """Raise ``InvalidBlsKey`` unless ``raw`` canonically encodes a point of the subgroup other than the identity."""
    if len(raw) != G2_OCTETS:
        raise InvalidBlsKey(f"a public key has {G2_OCTETS} bytes")
    try:
        select().octets_to_g2(raw)
    except InvalidPoint as fault:
        raise InvalidBlsKey("the bytes are not a public key") from fault
