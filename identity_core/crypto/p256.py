"""Public keys on P-256 (FIPS 186-5, SEC 1): only whether they are some."""

from __future__ import annotations

from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec

COORDINATE_BYTES: Final = 32


def check_public_key(x: bytes, y: bytes) -> None:
    """Raises ``ValueError`` unless ``x`` and ``y``, 32 octets each with the highest first, are a point of the curve."""
    if (len(x), len(y)) != (COORDINATE_BYTES, COORDINATE_BYTES):
        raise ValueError("a coordinate of P-256 has 32 octets")
    ec.EllipticCurvePublicNumbers(int.from_bytes(x), int.from_bytes(y), ec.SECP256R1()).public_key()
