"""Multibase base58btc (``z…``) and base64url without padding, each in its one canonical form.

Decoding is strict: what would be written differently from how it was read is refused, so that no two texts mean one
value. Every way in has a cap, because base58 costs time quadratic in the length. All errors are ``ValueError``.
Left out on purpose: every other base of the multibase table.

Base58 is GMP's base 58 with another alphabet. The ``base58`` package goes digit by digit, which was a fifth of the time of a
creation (it encodes and decodes a dozen values of 34 to 98 bytes); the tests hold the two against each other.
"""

from __future__ import annotations

import binascii
import re
from typing import Final

import gmpy2

MAX_BASE58: Final = 256
"""Characters; a BLS12-381 G2 public key has 135, an Ed25519 signature 88."""

_ALPHABET: Final = b"123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_DIGITS: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuv"  # GMP's
_TO_BASE58: Final = bytes.maketrans(_DIGITS, _ALPHABET)
_TO_DIGITS: Final = bytes.maketrans(_ALPHABET, _DIGITS)
_BASE58: Final = re.compile(r"[1-9A-HJ-NP-Za-km-z]+", re.ASCII)
_TO_URL: Final = bytes.maketrans(b"+/", b"-_")
_FROM_URL: Final = bytes.maketrans(b"-_", b"+/")


def base58_encode(data: bytes) -> str:
    """Base58btc without a prefix. A leading zero byte is a leading ``1``."""
    significant = data.lstrip(b"\0")
    ones = "1" * (len(data) - len(significant))
    if not significant:
        return ones
    digits: str = gmpy2.mpz.from_bytes(significant, "big").digits(58)
    return ones + digits.encode("ascii").translate(_TO_BASE58).decode("ascii")


def base58_decode(text: str, *, max_length: int = MAX_BASE58) -> bytes:
    """Return the bytes of bare base58btc text, which is not empty. Base58 is a bijection on its alphabet, so alphabet and cap are
    all there is to check."""
    if not 0 < len(text) <= max_length:
        raise ValueError("the base58 text is empty or too long")
    significant = text.lstrip("1")
    zeros = bytes(len(text) - len(significant))
    if not significant:
        return zeros
    # GMP would skip blanks and read signs.
    if _BASE58.fullmatch(significant) is None:
        raise ValueError("not base58btc")
    number = gmpy2.mpz(significant.encode("ascii").translate(_TO_DIGITS), 58)
    data: bytes = number.to_bytes((number.bit_length() + 7) // 8, "big")
    return zeros + data


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
        # So that what is no text is a TypeError.
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
