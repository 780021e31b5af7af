"""Ed25519 (RFC 8032) by libsodium, which refuses non-canonical signatures and small-order keys.

libsodium alone lets one of the twelve known edge cases through, a key of mixed order; ``check_public_key`` refuses it where a
key is registered, so each key that is ever verified with has passed both.
"""

from __future__ import annotations

from msgspec import Struct
from nacl import bindings
from nacl.exceptions import BadSignatureError

from identity_codec.values import Hidden


class Ed25519SignatureInvalid(Exception):
    """The signature is not one of this message by this key."""


class InvalidEd25519Key(ValueError):
    """The bytes are not a public key that is safe to use."""


class Ed25519KeyPair(Hidden, Struct, frozen=True):
    """A key pair: ``seed`` is the 32-byte secret, ``public`` the 32-byte public key that follows from it."""

    seed: bytes
    public: bytes

    def sign(self, message: bytes) -> bytes:
        """Return the 64-byte signature of ``message``."""
        # libsodium's secret key is seed and public key in one; they belong together because only ``generate`` pairs them.
        return bindings.crypto_sign(message, self.seed + self.public)[:64]


def generate(seed: bytes) -> Ed25519KeyPair:
    """Return the key pair of 32 random bytes."""
    if len(seed) != bindings.crypto_sign_SEEDBYTES:
        raise ValueError("an Ed25519 seed has 32 bytes")
    public, _ = bindings.crypto_sign_seed_keypair(seed)
    return Ed25519KeyPair(seed, public)


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the 64-byte signature of ``message`` by the key of ``seed``. Anyone who signs often keeps the ``Ed25519KeyPair``."""
    return generate(seed).sign(message)


def verify(public: bytes, message: bytes, signature: bytes) -> None:
    """Verify ``signature``. Raises ``Ed25519SignatureInvalid``: for an invalid one, wrong lengths included."""
    if len(signature) != bindings.crypto_sign_BYTES or len(public) != bindings.crypto_sign_PUBLICKEYBYTES:
        raise Ed25519SignatureInvalid
    try:
        bindings.crypto_sign_open(signature + message, public)
    except BadSignatureError as error:
        raise Ed25519SignatureInvalid from error


def check_public_key(raw: bytes) -> None:
    """Raise ``InvalidEd25519Key`` unless ``raw`` is the canonical form of a point of the prime-order subgroup, not the identity."""
    if len(raw) != bindings.crypto_core_ed25519_BYTES or not bindings.crypto_core_ed25519_is_valid_point(raw):
        raise InvalidEd25519Key("not a point of the prime-order subgroup")
