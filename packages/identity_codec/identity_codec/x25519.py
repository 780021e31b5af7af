"""X25519 keys (RFC 7748) by libsodium: made and checked here; key agreement itself is left to those who hold the keys."""

from __future__ import annotations

from typing import Final

from nacl import bindings
from nacl.exceptions import CryptoError

from identity_codec.ed25519 import InvalidEd25519Key

_PRIME: Final = 2**255 - 19
# Any scalar does: after clamping it is a multiple of 8, which takes every small-order point to zero.
_PROBE: Final = b"\x01" * 32


def public_key(secret: bytes) -> bytes:
    """Return the 32-byte public key of a 32-byte secret."""
    if len(secret) != bindings.crypto_scalarmult_SCALARBYTES:
        raise ValueError("an X25519 secret has 32 bytes")
    return bindings.crypto_scalarmult_base(secret)


def from_ed25519(public: bytes) -> bytes:
    """Return the X25519 public key of the point of a 32-byte Ed25519 public key (RFC 7748 §4.1, the birational map). Raises
    ``InvalidEd25519Key`` for what is not a point of the group."""
    try:
        return bindings.crypto_sign_ed25519_pk_to_curve25519(public)
    except (CryptoError, TypeError, ValueError) as error:
        raise InvalidEd25519Key("no point of the prime-order group") from error


def check_public_key(raw: bytes) -> None:
    """Raise ``InvalidEd25519Key`` for small-order points (zero among them) and for values that are not reduced."""
    if len(raw) != bindings.crypto_scalarmult_BYTES or int.from_bytes(raw, "little") >= _PRIME:
        raise InvalidEd25519Key("not a reduced 32-byte value")
    try:
        bindings.crypto_scalarmult(_PROBE, raw)
    except RuntimeError as error:
        raise InvalidEd25519Key("a small-order point") from error
