"""Keys of the type Bls12381G2Key2020 as raw octets: a secret scalar in 32, big-endian; a compressed point of G2 in 96.

Generation follows the BBS draft ("Key Generation Operations", suite BLS12-381-SHA-256). Multibase and multicodec
prefixes are ``codec.multikey``'s.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from identity_core.crypto.bls12381.backend import G2_OCTETS, ORDER, SCALAR_OCTETS, InvalidPoint
from identity_core.crypto.bls12381.choice import select
from identity_core.crypto.bls12381.hashing import hash_to_scalar

KEY_DST: Final = b"BBS_BLS12381G1_XMD:SHA-256_SSWU_RO_H2G_HM2S_KEYGEN_DST_"
MIN_KEY_MATERIAL_OCTETS: Final = 32


class InvalidKey(ValueError):
    """Not a key: its length, a scalar outside 1 to r - 1, or no point of the subgroup."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A raw secret, which is never printed, and its public key."""

    secret: bytes = field(repr=False)
    public: bytes


def generate_key_pair(key_material: bytes) -> KeyPair:
    """The pair that follows from fresh random octets; see ``generate_secret``."""
    secret = generate_secret(key_material)
    return KeyPair(secret, public_key(secret))


def generate_secret(key_material: bytes, key_info: bytes = b"") -> bytes:
    """KeyGen of the draft: 32 octets from at least 32 octets of secret entropy and at most 65,535 public ones."""
    if len(key_material) < MIN_KEY_MATERIAL_OCTETS:
        raise ValueError(f"key material has at least {MIN_KEY_MATERIAL_OCTETS} octets")
    if len(key_info) > 0xFFFF:
        raise ValueError("key info has at most 65535 octets")
    secret = hash_to_scalar(key_material + len(key_info).to_bytes(2, "big") + key_info, KEY_DST)
    if secret == 0:
        raise InvalidKey("the key material gives no key")
    return secret.to_bytes(SCALAR_OCTETS, "big")


def public_key(secret: bytes) -> bytes:
    """SkToPk of the draft; its multiplication takes constant time where the backend has it. Raises ``InvalidKey``."""
    curve = select()
    return curve.g2_to_octets(curve.g2_mul(curve.g2_generator(), secret_scalar(secret)))


def secret_scalar(secret: bytes) -> int:
    """The scalar of a raw secret. Raises ``InvalidKey`` unless there are 32 octets of a number from 1 to r - 1."""
    scalar = int.from_bytes(secret, "big")
    if len(secret) != SCALAR_OCTETS or not 1 <= scalar < ORDER:
        raise InvalidKey(f"a secret key is a number from 1 to r - 1 in {SCALAR_OCTETS} octets")
    return scalar


def check_public_key(raw: bytes) -> None:
    """Raises ``InvalidKey`` unless ``raw`` canonically encodes a point of the subgroup other than the identity."""
    if len(raw) != G2_OCTETS:
        raise InvalidKey(f"a public key has {G2_OCTETS} octets")
    try:
        select().octets_to_g2(raw)
    except InvalidPoint as fault:
        raise InvalidKey("the octets are no public key") from fault
