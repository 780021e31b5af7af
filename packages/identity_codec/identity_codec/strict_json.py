"""A strict parser of JSON (RFC 8259, I-JSON of RFC 7493): a text has one meaning or is refused, at bounded cost.

Python keeps the last of two members of one name, reads NaN, and takes any depth; two readers of one text may thus see two
values. Refused here: duplicate names, NaN and infinities, numbers that overflow, integers beyond 64 bits, lone
surrogates, a byte order mark, anything but UTF-8, more than 32 levels. What a text costs goes by its values more than by its
bytes, so these are counted, most of them before the text is read.

orjson decides the grammar. It cannot see duplicate names and turns long integers into fractions without a word; but there are
then fewer members and more fractions in the value than stand between the strings of the text, which can be counted.
"""

from __future__ import annotations

import re
import unicodedata
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Any, Final

import orjson

JsonValue = None | bool | int | float | str | list["JsonValue"] | dict[str, "JsonValue"]

MAX_DEPTH: Final = 32
MAX_VALUES: Final = 10_000
"""The largest set of a predicate has 4,096 elements."""
MAX_CONTAINERS: Final = 1_000
"""Arrays and objects."""
MAX_MEMBERS: Final = 1_000
"""Of all objects together."""
MAX_FRACTIONS: Final = 100
"""Numbers with a fraction or an exponent, which are dear to write canonically; no request needs more than one."""

MAX_SAFE_INTEGER: Final = (1 << 53) - 1
"""The largest integer that is one double (RFC 7493 §2.2)."""

_EXACT_DIGITS: Final = 15
"""Decimal numbers of so many significant digits are different doubles (IEEE 754)."""
_CONTAINERS: Final = frozenset((dict, list))
# What tells a fraction from an integer, as one character; the rest of a number goes.
_MARKS: Final = bytes.maketrans(b"eE", b"..")
_UNMARKED: Final = b"0123456789+-"


class JsonRefused(ValueError):
    """``reason`` is safe to show."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def loads(data: bytes, *, room: int = 1) -> Any:
    """Return the value of a JSON text, which may have ``room`` times as many values as a request. Raises ``JsonRefused``."""
    between = _check_size(data, room)
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError as error:
        raise JsonRefused(f"not valid JSON: {error.msg}, line {error.lineno} column {error.colno}") from error
    members, fractions = _measure(value)
    # Of colons that are counted with the strings there may be too many, never too few.
    if data.count(b":") != members:
        between = between or _between_strings(data, room)
        if between.count(b":") != members:
            raise JsonRefused("an object has two members of the same name")
    # orjson reads an integer beyond 64 bits as a fraction.
    if fractions and _fractions_in(between or _between_strings(data, room)) != fractions:
        raise JsonRefused("an integer does not fit into 64 bits")
    return value


def _check_size(data: bytes, room: int) -> bytes:
    """Raise ``JsonRefused`` for too many values. What stands between the strings, when it had to be looked at.

    Each value but the outermost follows a comma or the beginning of a container.
    """
    if _excess(data, room) is None:
        return b""
    between = _between_strings(data, room)
    excess = _excess(between, room)
    if excess is not None:
        raise JsonRefused(excess)
    return between


def _excess(data: bytes, room: int) -> str | None:
    containers = data.count(b"[") + data.count(b"{")
    if containers > MAX_CONTAINERS * room:
        return f"more than {MAX_CONTAINERS * room} arrays and objects"
    if data.count(b":") > MAX_MEMBERS * room:
        return f"more than {MAX_MEMBERS * room} members"
    return f"more than {MAX_VALUES * room} values" if data.count(b",") + containers >= MAX_VALUES * room else None


def _between_strings(data: bytes, room: int) -> bytes:
    """Return the text without its strings, the names of members among them. Raises ``JsonRefused`` when they are too many."""
    if b"\\" in data:
        # A run of backslashes begins an escape with its first one, so that they pair from the left.
        data = data.replace(rb"\\", b"").replace(rb"\"", b"")
    if data.count(b'"') > 2 * (MAX_VALUES + MAX_MEMBERS) * room:
        raise JsonRefused(f"more than {MAX_VALUES * room} values")
    return b'""'.join(data.split(b'"')[::2])


def _measure(value: Any) -> tuple[int, int]:
    """Return how many members all objects have together, and how many fractions there are. Raises ``JsonRefused`` beyond the depth
    and for too many fractions."""
    members, fractions = 0, int(type(value) is float)
    level = [value] if type(value) in _CONTAINERS else []
    for _ in range(MAX_DEPTH):
        if not level:
            return members, fractions
        below: list[Any] = []
        for item in level:
            children = item
            if type(item) is dict:
                members += len(item)
                children = item.values()
            # Most hold nothing but texts and integers, and this asks faster than a comprehension.
            types = set(map(type, children))
            if not _CONTAINERS.isdisjoint(types):
                below += [child for child in children if type(child) in _CONTAINERS]
            if float in types:
                fractions += len([child for child in children if type(child) is float])
        if fractions > MAX_FRACTIONS:
            raise JsonRefused(f"more than {MAX_FRACTIONS} fractions")
        level = below
    if level:
        raise JsonRefused(f"nested deeper than {MAX_DEPTH} levels")
    return members, fractions


def _fractions_in(between: bytes) -> int:
    """Return how many numbers of the text have a fraction or an exponent, or both."""
    marks = between.replace(b"true", b"").replace(b"false", b"").translate(_MARKS, _UNMARKED)
    return marks.replace(b"..", b".").count(b".")


def exact(value: JsonValue) -> JsonValue:
    """Return a JSON number as the integer that it is, otherwise as its shortest decimal text; any other value as it is.

    Raises ``JsonRefused``: for more than 15 significant digits, and for an integer past 2^53 - 1, which readers round differently."""
    if not isinstance(value, float):
        return value
    number = Decimal(repr(value)).normalize()
    if len(number.as_tuple().digits) > _EXACT_DIGITS or (value.is_integer() and abs(value) > MAX_SAFE_INTEGER):
        raise JsonRefused(
            f"a number of more than {_EXACT_DIGITS} significant digits, or past 2^53 - 1, is sent as a string"
        )
    return int(value) if value.is_integer() else format(number, "f")


@cache
def _unassigned() -> re.Pattern[str]:
    table = resources.files(__package__).joinpath("unassigned_in_unicode_14.json").read_bytes()
    return re.compile(f"[{''.join(f'{chr(low)}-{chr(high)}' for low, high in orjson.loads(table))}]")


def is_assigned(text: str) -> bool:
    """Return whether Unicode 14.0 assigns every character. Only then each runtime has the same NFC of the text (PROTOCOL-2.md §2.3)."""
    return text.isascii() or _unassigned().search(text) is None


def is_composed(text: str) -> bool:
    """Return whether the text is in NFC for each runtime."""
    return is_assigned(text) and unicodedata.is_normalized("NFC", text)
