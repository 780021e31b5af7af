"""JSON Web Encryption to a key on P-256 (RFC 7516; ECDH-ES of RFC 7518 §4.6, AES-GCM of RFC 7518 §5.3) by joserfc.

Decryption only. The reader checks the content of a header before, strictly; compression is switched off here too, because a short text
could become a long one.
"""

from __future__ import annotations

import base64
from typing import Final

from cryptography.exceptions import InvalidTag
from joserfc import errors, jwe
from joserfc.jwk import ECKey

from identity_codec import p256

ALGORITHM: Final = "ECDH-ES"
ENCODINGS: Final = ("A256GCM", "A128GCM")


class JweInvalid(Exception):
    """The text is not a JWE to this key."""


class _JweRegistry(jwe.JWERegistry):
    """joserfc's own limit is 64 KiB; the body that it comes in has a limit already."""

    max_ciphertext_length = 256 * 1024


_REGISTRY: Final = _JweRegistry(algorithms=[ALGORITHM, *ENCODINGS])


def public_members(secret: bytes) -> dict[str, str]:
    """``kty``, ``crv``, ``x``, ``y`` of the public JWK of a secret of 32 bytes."""
    x, y = p256.coordinates(p256.public_key(secret))
    return {"kty": "EC", "crv": "P-256", "x": _text(x), "y": _text(y)}


def decrypt(secret: bytes, text: str) -> bytes:
    """Return what a compact JWE holds that is for this secret. Raises ``JweInvalid`` for everything else."""
    key = ECKey.import_key({**public_members(secret), "d": _text(secret)})
    try:
        found = jwe.decrypt_compact(text.encode("ascii"), key, registry=_REGISTRY)
    except (errors.JoseError, InvalidTag, ValueError, TypeError, KeyError) as error:
        # What is not a JWE at all joserfc refuses in many ways.
        raise JweInvalid from error
    if found.plaintext is None:
        raise JweInvalid
    return found.plaintext


def _text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")
