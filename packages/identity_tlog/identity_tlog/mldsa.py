"""ML-DSA-44 (FIPS 204) without a context, by those versions and builds of ``cryptography`` that have it.

Without it keys are still known by their form, and ``is_available`` is False: nothing can be verified with them.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any, Final

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

PUBLIC_BYTES: Final = 1312
SIGNATURE_BYTES: Final = 2420
SEED_BYTES: Final = 32


class MlDsaSignatureInvalid(Exception):
    """The signature is not one of this message by this key."""


@functools.cache
def _implementation() -> Any:
    """Return the module of ``cryptography``; None where it has none that works."""
    try:
        from cryptography.hazmat.primitives.asymmetric import mldsa

        mldsa.MLDSA44PrivateKey.from_seed_bytes(bytes(SEED_BYTES))
    except (ImportError, UnsupportedAlgorithm):
        return None
    return mldsa


def is_available() -> bool:
    """Return whether this installation can sign and verify."""
    return _implementation() is not None


@dataclass(frozen=True, slots=True)
class MlDsaKeyPair:
    """A key pair: ``seed`` is the 32-byte secret, ``public`` the 1,312-byte public key that follows from it."""

    seed: bytes = field(repr=False)
    public: bytes

    def sign(self, message: bytes) -> bytes:
        """Return a signature of ``message``: 2,420 bytes, others each time."""
        signature: bytes = _implementation().MLDSA44PrivateKey.from_seed_bytes(self.seed).sign(message)
        return signature


def generate(seed: bytes) -> MlDsaKeyPair:
    """Return the key pair of 32 random bytes. Raises ``ValueError`` for another length; only where ``is_available``."""
    if len(seed) != SEED_BYTES:
        raise ValueError("an ML-DSA seed has 32 bytes")
    private = _implementation().MLDSA44PrivateKey.from_seed_bytes(seed)
    return MlDsaKeyPair(seed, private.public_key().public_bytes_raw())


def verify(public: bytes, message: bytes, signature: bytes) -> None:
    """Verify ``signature``. Raises ``MlDsaSignatureInvalid``: for an invalid one, wrong lengths included. Only if ``is_available``."""
    if len(signature) != SIGNATURE_BYTES or len(public) != PUBLIC_BYTES:
        raise MlDsaSignatureInvalid
    try:
        _implementation().MLDSA44PublicKey.from_public_bytes(public).verify(signature, message)
    except InvalidSignature as error:
        raise MlDsaSignatureInvalid from error
