"""Multibase base58btc (``z…``) and base64url without padding, each in its one canonical form.

Decoding is strict: what would be written differently from how it was read is refused, so that no two texts mean one
value. Every decoder has a maximum length, because base58 costs time quadratic in the length. All errors are
``ValueError``. Left out on purpose: every other base of the multibase table.
"""

from __future__ import annotations

import binascii
import re
from typing import Final

import base58

MAX_BASE58: Final = 256
"""Characters; a BLS12-381 G2 public key has 135, an Ed25519 signature 88."""

_BASE58: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]+", re.ASCII)
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")


def base58_encode(data: bytes) -> str:
    """Return base58btc without a prefix. A leading zero byte is a leading ``1``."""
    return base58.b58encode(data).decode("ascii")


def base58_decode(text: str, *, max_length: int = MAX_BASE58) -> bytes:
    """Return the bytes of bare base58btc text, which is not empty."""
    # The library skips blanks at the end.
    if not 0 < len(text) <= max_length or _BASE58.fullmatch(text) is None:
        raise ValueError("the base58 text is empty, too long or not base58btc")
    return base58.b58decode(text)


def base58btc_encode(data: bytes) -> str:
    """``z`` and base58btc."""
    return "z" + base58_encode(data)


def base58btc_decode(text: str, *, max_length: int = MAX_BASE58) -> bytes:
    """Return the bytes of a multibase text whose base is base58btc."""
    if not text.startswith("z"):
        raise ValueError("not multibase base58btc")
    return base58_decode(text[1:], max_length=max_length)


def base64url_encode(data: bytes) -> str:
    """Base64url without padding (RFC 4648 §5)."""
    return _base64url(data).decode("ascii")


def base64url_decode(text: str) -> bytes:
    """Return the bytes of base64url text without padding. Python's decoder skips junk and ignores trailing bits; comparing with the
    text written anew refuses both."""
    try:
        # So that what is not text is a TypeError.
        written = str.encode(text, "ascii")
        data = binascii.a2b_base64(written.translate(_FROM_URL) + b"==")
    except ValueError as error:
        raise ValueError("not base64url without padding") from error
    if _base64url(data) != written:
        raise ValueError("not base64url without padding, or with bits left over")
    return data


def _base64url(data: bytes) -> bytes:
    # Of ``base64`` each call is three.
    return binascii.b2a_base64(data, newline=False).rstrip(b"=").translate(_TO_URL)
