"""The JSON Canonicalization Scheme (RFC 8785).

orjson writes JCS byte for byte but for fractions, which ECMAScript writes in another way, and for the order of names past
ASCII, which is that of UTF-16. A value that has one of them is put in order first, its fractions written by the
``rfc8785`` library: the price stays that of orjson, with some microseconds for each fraction and each name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import partial
from operator import methodcaller
from typing import Any, Final

import orjson
import rfc8785

_OPTIONS: Final = (
    orjson.OPT_STRICT_INTEGER
    | orjson.OPT_PASSTHROUGH_SUBCLASS
    | orjson.OPT_PASSTHROUGH_DATACLASS
    | orjson.OPT_PASSTHROUGH_DATETIME
)
_SORTED: Final = _OPTIONS | orjson.OPT_SORT_KEYS
_SCALAR: Final = partial(orjson.dumps, option=_OPTIONS)
# A fraction, an exponent, or the null that orjson also writes for NaN.
_UNSURE: Final = re.compile(rb"[0-9][.eE]|null")
# Of a short text its bytes tell sooner than its value that nothing is to be done.
_SHORT: Final = 4_096
_CONTAINERS: Final = frozenset((dict, list, tuple))
_REWRITTEN: Final = _CONTAINERS | {float}


def canonicalize(value: Any) -> bytes:
    """Return the canonical UTF-8 bytes of a JSON value.

    Raises ``ValueError`` for what JCS has no form for: integers beyond 2^53 - 1, NaN and infinities, lone surrogates, names that are
    not strings, foreign types.
    """
    try:
        data = orjson.dumps(value, option=_SORTED)
        if (
            len(data) <= _SHORT
            and data.isascii()
            and b"\\" not in data
            and _UNSURE.search(b" ".join(data.split(b'"')[::2]).translate(None, b"{}[]:")) is None
        ):
            return data
        return data if _is_plain(value) else orjson.dumps(_rewritten(value), option=_OPTIONS)
    except (TypeError, rfc8785.CanonicalizationError) as error:
        raise ValueError(f"not canonicalizable: {error}") from error


def canonicalize_plain(value: Any) -> bytes:
    """``canonicalize`` for a value without a fraction or a name past ASCII, which are not looked for. Raises ``ValueError``."""
    try:
        return orjson.dumps(value, option=_SORTED)
    except TypeError as error:
        raise ValueError(f"not canonicalizable: {error}") from error


def canonicalize_each(values: Iterable[str | int]) -> list[bytes]:
    """Return the canonical bytes of each text, integer or boolean, for a fraction of the price of so many calls. Raises
    ``ValueError``."""
    try:
        return [*map(_SCALAR, values)]
    except TypeError as error:
        raise ValueError(f"not canonicalizable: {error}") from error


def _is_plain(value: Any) -> bool:
    """Return whether there is neither a fraction nor a name past ASCII in ``value``."""
    waiting = [value] if type(value) in _CONTAINERS else []
    if type(value) is float:
        return False
    while waiting:
        item = waiting.pop()
        children = item
        if type(item) is dict:
            if not all(map(str.isascii, item)):
                return False
            children = item.values()
        types = set(map(type, children))
        if float in types:
            return False
        if not _CONTAINERS.isdisjoint(types):
            waiting += [child for child in children if type(child) in _CONTAINERS]
    return True


def _rewritten(value: Any) -> Any:
    """``value`` with its names in the order of UTF-16 and its fractions written out."""
    if type(value) is float:
        return orjson.Fragment(rfc8785.dumps(value))
    if isinstance(value, list | tuple):
        return [_rewritten(child) if type(child) in _REWRITTEN else child for child in value]
    if isinstance(value, dict):
        return {name: _rewritten(value[name]) for name in sorted(value, key=methodcaller("encode", "utf-16-be"))}
    return value
