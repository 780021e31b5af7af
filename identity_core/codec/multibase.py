"""Multibase base58btc (``z…``) and base64url without padding, each in its one canonical form.

Decoding is strict: what would be written differently from how it was read is refused, so that no two texts mean one
value. Every way in has a cap, because base58 costs time quadratic in the length. All errors are ``ValueError``.
Left out on purpose: every other base of the multibase table.

Base58 is written out here because a creation encodes and decodes a dozen values of 34 to 98 bytes, and going digit by digit, as
the ``base58`` package does, was a fifth of its time. Two digits at a time are three times as fast; the tests hold the two
against each other.
"""

from __future__ import annotations

import base64
import binascii
import re
from typing import Final

MAX_BASE58: Final = 256
"""Characters; a BLS12-381 G2 public key has 135, an Ed25519 signature 88."""

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_PAIRS: Final = [high + low for high in _ALPHABET for low in _ALPHABET]
_VALUES: Final = {pair: value for value, pair in enumerate(_PAIRS)}
_TEN_DIGITS: Final = 58**10  # the largest even number of digits that fits into one machine word
_BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]*", re.ASCII)


def base58_encode(octets: bytes) -> str:
    """Base58btc without a prefix. A leading zero byte is a leading ``1``."""
    number = int.from_bytes(octets, "big")
    tens = []
    while number:
        number, ten = divmod(number, _TEN_DIGITS)
        upper, pair5 = divmod(ten, 58**2)
        upper, pair4 = divmod(upper, 58**2)
        upper, pair3 = divmod(upper, 58**2)
        pair1, pair2 = divmod(upper, 58**2)
        tens.append(_PAIRS[pair1] + _PAIRS[pair2] + _PAIRS[pair3] + _PAIRS[pair4] + _PAIRS[pair5])
    tens.reverse()
    zeros = len(octets) - len(octets.lstrip(b"\0"))
    return "1" * zeros + "".join(tens).lstrip("1")


def base58_decode(text: str, *, max_length: int = MAX_BASE58) -> bytes:
    """The bytes of bare base58btc text, which is not empty. Base58 is a bijection on its alphabet, so alphabet and cap are all there
    is to check."""
    if not 0 < len(text) <= max_length:
        raise ValueError("the base58 text is empty or too long")
    even = text if len(text) % 2 == 0 else "1" + text
    number = 0
    try:
        for place in range(0, len(even), 2):
            number = number * len(_PAIRS) + _VALUES[even[place : place + 2]]
    except KeyError as error:
        raise ValueError("not base58btc") from error
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8, "big")


def base58btc_encode(octets: bytes) -> str:
    """``z`` and base58btc."""
    return "z" + base58_encode(octets)


def base58btc_decode(text: str, *, max_length: int = MAX_BASE58) -> bytes:
    """The bytes of a multibase text whose base is base58btc."""
    if not text.startswith("z"):
        raise ValueError("not multibase base58btc")
    return base58_decode(text[1:], max_length=max_length)


def base64url_encode(octets: bytes) -> str:
    """Base64url without padding (RFC 4648 §5)."""
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")


def base64url_decode(text: str) -> bytes:
    """The bytes of base64url text without padding. Python's decoders skip junk and ignore trailing bits; comparing with the
    text written anew refuses both."""
    if _BASE64URL.fullmatch(text) is None:
        raise ValueError("not base64url without padding")
    try:
        octets = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except binascii.Error as error:
        raise ValueError("not base64url without padding") from error
    if base64url_encode(octets) != text:
        raise ValueError("base64url with bits left over")
    return octets
