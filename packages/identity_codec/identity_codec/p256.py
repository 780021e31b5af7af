"""Keys on P-256 (FIPS 186-5, SEC 1) and ECDSA with SHA-256 in the form of JOSE (RFC 7518 §3.4), by ``cryptography``.

A secret has 32 bytes, highest first; a public key is the compressed point of 33 bytes, as a multikey has it; a signature is ``r || s``
of 64 bytes. Errors are ``ValueError``, and ``P256SignatureInvalid`` for a signature.
"""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Final

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

COORDINATE_BYTES: Final = 32
SIGNATURE_BYTES: Final = 64
_ORDER: Final = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_ALGORITHM: Final = ec.ECDSA(hashes.SHA256())


class P256SignatureInvalid(Exception):
    """The key has not made this signature."""


def check_public_key(x: bytes, y: bytes) -> None:
    """Raise ``ValueError`` unless ``x`` and ``y``, 32 bytes each with the highest first, are a point of the curve."""
    compress(x, y)


def compress(x: bytes, y: bytes) -> bytes:
    """Return the compressed point of two coordinates. Raises ``ValueError`` for what is not a point of the curve."""
    if (len(x), len(y)) != (COORDINATE_BYTES, COORDINATE_BYTES):
        raise ValueError("a coordinate of P-256 has 32 bytes")
    key = ec.EllipticCurvePublicNumbers(int.from_bytes(x), int.from_bytes(y), ec.SECP256R1()).public_key()
    return key.public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def coordinates(compressed: bytes) -> tuple[bytes, bytes]:
    """Return the two coordinates of a compressed point, as ``publicKeyJwk`` has them. Raises ``ValueError``."""
    numbers = _public(compressed).public_numbers()
    return numbers.x.to_bytes(COORDINATE_BYTES), numbers.y.to_bytes(COORDINATE_BYTES)


def check_compressed_key(compressed: bytes) -> None:
    """Raise ``ValueError`` unless this is a compressed point of the curve."""
    _public(compressed)


def generate_secret(material: bytes) -> bytes:
    """Return a secret from 32 random bytes, stretched to 48 so that reducing them to 1 to n - 1 leaves no bias (FIPS 186-5 §A.2.1)."""
    if len(material) != COORDINATE_BYTES:
        raise ValueError("a secret of P-256 is made of 32 bytes")
    wide = hashlib.sha512(b"identity: P-256 secret, v1\n" + material).digest()[:48]
    return (1 + int.from_bytes(wide) % (_ORDER - 1)).to_bytes(COORDINATE_BYTES)


def public_key(secret: bytes) -> bytes:
    """Return the compressed point of a secret. Raises ``ValueError`` for one outside 1 to n - 1."""
    return _private(secret).public_key().public_bytes(Encoding.X962, PublicFormat.CompressedPoint)


def sign(secret: bytes, message: bytes) -> bytes:
    """ECDSA over the SHA-256 of ``message``."""
    r, s = decode_dss_signature(_private(secret).sign(message, _ALGORITHM))
    return r.to_bytes(COORDINATE_BYTES) + s.to_bytes(COORDINATE_BYTES)


def verify(compressed: bytes, message: bytes, signature: bytes) -> None:
    """Raise ``P256SignatureInvalid`` unless the key made the signature, and ``ValueError`` for what is not a key."""
    if len(signature) != SIGNATURE_BYTES:
        raise P256SignatureInvalid
    r, s = int.from_bytes(signature[:COORDINATE_BYTES]), int.from_bytes(signature[COORDINATE_BYTES:])
    try:
        _public(compressed).verify(encode_dss_signature(r, s), message, _ALGORITHM)
    except InvalidSignature as error:
        raise P256SignatureInvalid from error


@lru_cache(maxsize=256)
def _public(compressed: bytes) -> ec.EllipticCurvePublicKey:
    if len(compressed) != 1 + COORDINATE_BYTES or compressed[0] not in (2, 3):
        raise ValueError("a key on P-256 is a compressed point of 33 bytes")
    return ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), compressed)


def _private(secret: bytes) -> ec.EllipticCurvePrivateKey:
    if len(secret) != COORDINATE_BYTES:
        raise ValueError("a secret of P-256 has 32 bytes")
    return ec.derive_private_key(int.from_bytes(secret), ec.SECP256R1())
