"""Sealing: XChaCha20-Poly1305 boxes, keys by HKDF-SHA256 (RFC 5869) and Argon2id (RFC 9106).

A box is one version byte, the 24-byte nonce and the ciphertext with its tag; the version byte is authenticated, so that a
later format cannot be passed off as this one. Nonces come from the caller's random source: 192 random bits need no counter.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import nacl.exceptions
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from nacl import bindings, pwhash

KEY_BYTES: Final = 32
SALT_BYTES: Final = 16
VERSION: Final = b"\x01"
_NONCE_BYTES: Final = 24
OVERHEAD: Final = len(VERSION) + _NONCE_BYTES + 16


class BoxInvalid(Exception):
    """The box was made with another key or for another purpose, was changed, or is malformed."""


def seal(key: bytes, plaintext: bytes, associated_data: bytes, *, random: Callable[[int], bytes]) -> bytes:
    """Return a box that opens only with the same 32-byte ``key`` and the same ``associated_data``."""
    nonce = random(_NONCE_BYTES)
    sealed = bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plaintext, VERSION + associated_data, nonce, key)
    return VERSION + nonce + sealed


def unseal(key: bytes, box: bytes, associated_data: bytes) -> bytes:
    """Return the plaintext of ``box``. Raises ``BoxInvalid``."""
    if len(box) < OVERHEAD or box[:1] != VERSION:
        raise BoxInvalid
    nonce, sealed = box[1 : 1 + _NONCE_BYTES], box[1 + _NONCE_BYTES :]
    try:
        return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, VERSION + associated_data, nonce, key)
    except nacl.exceptions.CryptoError as error:
        raise BoxInvalid from error


def derive_key(secret: bytes, *, info: bytes, salt: bytes = b"", length: int = KEY_BYTES) -> bytes:
    """HKDF-SHA256: a key of ``length`` bytes (at most 8,160) for the one use that ``info`` names.

    ``secret`` must have full entropy; a passphrase goes through ``key_from_passphrase`` first.
    """
    if not 0 < length <= 255 * 32:
        raise ValueError("HKDF-SHA256 gives 1 to 8160 bytes")
    return HKDF(SHA256(), length, salt or None, info).derive(secret)


def key_from_passphrase(passphrase: bytes, salt: bytes, *, operations: int, memory_bytes: int) -> bytes:
    """Argon2id: 32 bytes from a passphrase and a 16-byte salt. The costs are arguments because they must be stored with the
    salt: ``MODERATE`` is libsodium's advice."""
    if len(salt) != SALT_BYTES:
        raise ValueError("the salt has 16 bytes")
    return pwhash.argon2id.kdf(KEY_BYTES, passphrase, salt, opslimit=operations, memlimit=memory_bytes)


MODERATE: Final = (pwhash.argon2id.OPSLIMIT_MODERATE, pwhash.argon2id.MEMLIMIT_MODERATE)
"""(operations, memory in bytes) for ``key_from_passphrase``."""
