"""The JSON Canonicalization Scheme (RFC 8785).

orjson writes JCS byte for byte as long as everything is ASCII and no number is a fraction: names then sort alike as bytes
and as UTF-16, escapes are the same, integers of 53 bits have one form. Only what needs ECMAScript's rules for numbers or UTF-16
order takes the slower road through the ``rfc8785`` library.
"""

from __future__ import annotations

import re
from typing import Any, Final

import orjson
import rfc8785

_OPTIONS: Final = (
    orjson.OPT_SORT_KEYS
    | orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
# A fraction, an exponent, or the null that orjson also writes for NaN.
_UNSURE: Final = re.compile(rb"[0-9][.eE]|null")


def canonicalize(value: Any) -> bytes:
    """The canonical UTF-8 bytes of a JSON value.

    Raises ``ValueError`` for what JCS has no form for: integers beyond 2^53 - 1, NaN and infinities, lone surrogates, names that are
    no strings, foreign types.
    """
    try:
        octets = orjson.dumps(value, option=_OPTIONS)
    except TypeError as error:
        raise ValueError(f"not canonicalizable: {error}") from error
    if octets.isascii() and b"\\" not in octets and _UNSURE.search(_outside_strings(octets)) is None:
        return octets
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError, RecursionError) as error:
        raise ValueError(f"not canonicalizable: {error}") from error


def _outside_strings(octets: bytes) -> bytes:
    """What stands between the strings of a JSON text without escapes, the structural characters left out."""
    return b" ".join(octets.split(b'"')[::2]).translate(None, b"{}[]:")
