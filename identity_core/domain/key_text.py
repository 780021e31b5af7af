"""The text of an API key, and its digest, which is all that is ever stored.

A minted key is ``idk_live_``, 256 random bits in base64url, and a checksum: the prefix and the checksum let scanners
find a leaked key in a repository without false alarms. They are no credential: any text can be an API key
(``API_KEY=…``), so nothing here decides whether a key is good.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import zlib
from typing import Final

from identity_core.codec.multibase import base64url_encode

PREFIX: Final = "idk_live_"
RANDOM_BYTES: Final = 32
MAX_LENGTH: Final = 512
"""Characters; a longer text is no key, so that nobody makes us hash a header full of them."""

SHORT: Final = 20
"""Characters; a shorter key that somebody chose is worth a warning."""

_MINTED: Final = re.compile(r"idk_live_[A-Za-z0-9_-]{49}", re.ASCII)


def mint(random_octets: bytes) -> str:
    """A new key from 32 random octets. Raises ``ValueError`` for fewer or more."""
    if len(random_octets) != RANDOM_BYTES:
        raise ValueError(f"an API key is made of {RANDOM_BYTES} random octets")
    text = PREFIX + base64url_encode(random_octets)
    return text + _checksum(text)


def is_minted(text: str) -> bool:
    """Whether ``text`` has the form and the checksum of a minted key: for scanners, never for authentication."""
    return _MINTED.fullmatch(text) is not None and _checksum(text[:-6]) == text[-6:]


def digest_of(text: str) -> str:
    """The SHA-256 of a key's UTF-8 in lower-case hex: what stores know it by."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def fingerprint(secret: bytes, digest: str) -> str:
    """12 hex digits by which logs and administrators know the key of ``digest``. Under a ``secret`` of the service, so that nobody who
    sees one can try weak keys against it."""
    return hmac.digest(secret, b"identity: fingerprint of an API key, v1\n" + digest.encode("ascii"), "sha256").hex()[
        :12
    ]


def _checksum(text: str) -> str:
    return base64url_encode(zlib.crc32(text.encode("ascii")).to_bytes(4, "big"))
