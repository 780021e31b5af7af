"""JSON as RFC 8259 and I-JSON (RFC 7493) want it: one meaning or none.

Python keeps the last of two members of one name, reads NaN, and takes any depth; two readers of one text may thus see two
values. Refused here: duplicate names, NaN and infinities, numbers that overflow, integers beyond 64 bits, lone
surrogates, a byte order mark, anything but UTF-8, more than 32 levels.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, Final

import orjson

MAX_DEPTH: Final = 32
_CONTAINERS: Final = (dict, list)

# What ends a member's name. Inside strings the pattern can only be seen too often (`":x"`, `\":`), never too seldom.
_NAME_END: Final = re.compile(rb'"[ \t\n\r]*:')
# orjson turns an integer beyond 64 bits into a float without a word; a run of 19 digits may be one.
_DIGITS_AS_ZERO: Final = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER: Final = b"0" * 19


class JsonRefused(ValueError):
    """``reason`` says why, and is safe to show."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def loads(octets: bytes) -> Any:
    """The value of a JSON text. Raises ``JsonRefused``.

    orjson decides the grammar. It cannot see duplicate names; but the names in the text and the members in the value can be
    counted, and only when the counts differ is the text read again, by the slower parser that decides exactly.
    """
    try:
        value = orjson.loads(octets)
    except orjson.JSONDecodeError as error:
        raise JsonRefused(f"not valid JSON: {error.msg}, line {error.lineno} column {error.colno}") from error
    members = _measure(value)
    if len(_NAME_END.findall(octets)) != members or _LONG_NUMBER in octets.translate(_DIGITS_AS_ZERO):
        return _loads_exactly(octets)
    return value


def _measure(value: Any) -> int:
    """How many members all objects have together. Raises ``JsonRefused`` beyond the depth."""
    members = 0
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_DEPTH):
        if not level:
            return members
        below: list[Any] = []
        for item in level:
            if type(item) is dict:
                members += len(item)
                below += [child for child in item.values() if type(child) in _CONTAINERS]
            else:
                below += [child for child in item if type(child) in _CONTAINERS]
        level = below
    if level:
        raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels")
    return members


def _loads_exactly(octets: bytes) -> Any:
    return json.loads(octets, object_pairs_hook=_members, parse_int=_integer, parse_float=_fraction)


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise JsonRefused("an object has two members of the same name")
    return found


def _integer(text: str) -> int:
    if len(text) > 20 or not -(2**63) <= (number := int(text)) < 2**64:
        raise JsonRefused("an integer does not fit into 64 bits")
    return number


def _fraction(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise JsonRefused("a number is too large")
    return number
