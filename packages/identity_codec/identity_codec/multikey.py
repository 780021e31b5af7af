"""Multikeys (CID 1.0 §2.2.2): multibase base58btc of a multicodec prefix and the raw key.

A key travels with its type inside, so a text of the wrong prefix or length is refused here; whether the point is weak
is decided by ``domain.dids.keys``. Secrets have the CID 1.0 form: prefix and 32 bytes. All errors are ``ValueError``.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from msgspec import Struct

from identity_codec import multibase

ED25519: Final = "Ed25519VerificationKey2020"
X25519: Final = "X25519KeyAgreementKey2020"
BLS12381G2: Final = "Bls12381G2Key2020"
P256: Final = "EcdsaSecp256r1VerificationKey2019"


class Codec(Struct, frozen=True):
    """One row of the multicodec table; ``size`` counts the raw bytes without the prefix."""

    prefix: bytes
    size: int


_PUBLIC: Final = {
    ED25519: Codec(b"\xed\x01", 32),
    X25519: Codec(b"\xec\x01", 32),
    BLS12381G2: Codec(b"\xeb\x01", 96),
    P256: Codec(b"\x80\x24", 33),
}
_SECRET: Final = {
    ED25519: Codec(b"\x80\x26", 32),
    X25519: Codec(b"\x82\x26", 32),
    BLS12381G2: Codec(b"\x8a\x26", 32),
    P256: Codec(b"\x86\x26", 32),
}
_PUBLIC_TYPES: Final = {codec.prefix: (key_type, codec.size) for key_type, codec in _PUBLIC.items()}
_SECRET_TYPES: Final = {codec.prefix: (key_type, codec.size) for key_type, codec in _SECRET.items()}


def encode_public(key_type: str, raw: bytes) -> str:
    """Return the multikey of a raw public key: ``z6Mk…``, ``z6LS…``, ``zUC7…``, ``zDn…`` (a compressed point)."""
    return _encode(_PUBLIC, key_type, raw)


# Of the same DIDs again and again, whose signatures are checked: of as many as heads are kept.
@lru_cache(maxsize=4096)
def decode_public(text: str) -> tuple[str, bytes]:
    """Return the verification method type and the raw public key."""
    return _decode(_PUBLIC_TYPES, text)


def encode_secret(key_type: str, raw: bytes) -> str:
    """Return the multikey of a raw 32-byte secret: ``z3u2…``, ``z3we…``, ``z488…``, ``z42t…``."""
    return _encode(_SECRET, key_type, raw)


def decode_secret(text: str) -> tuple[str, bytes]:
    """Return the verification method type and the raw 32-byte secret."""
    return _decode(_SECRET_TYPES, text)


def _encode(table: dict[str, Codec], key_type: str, raw: bytes) -> str:
    codec = table.get(key_type)
    if codec is None:
        raise ValueError("unknown key type")
    if len(raw) != codec.size:
        raise ValueError(f"a key of this type has {codec.size} bytes")
    return multibase.base58btc_encode(codec.prefix + raw)


def _decode(types: dict[bytes, tuple[str, int]], text: str) -> tuple[str, bytes]:
    data = multibase.base58btc_decode(text)
    key_type, size = types.get(data[:2], (None, 0))
    if key_type is None:
        raise ValueError("unknown multicodec prefix")
    if len(data) != size + 2:
        raise ValueError("wrong key length")
    return key_type, data[2:]
