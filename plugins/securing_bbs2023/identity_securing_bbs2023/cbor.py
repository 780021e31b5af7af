"""The five types of CBOR (RFC 8949) that a proof value of bbs-2023 is made of: unsigned integers, byte strings, texts, arrays and maps of
integers. Read as they are written in the core deterministic encoding (RFC 8949 §4.2.1) and in no other way, so that a value has one form.

By hand: a general decoder reads tags, floats and nesting of any depth, all of which an attacker chooses.
"""

from __future__ import annotations

from typing import Any, Final

_UNSIGNED, _OCTETS, _TEXT, _ARRAY, _MAP = 0, 2, 3, 4, 5
_MOST_DEPTH: Final = 2
"""An array of arrays, and maps of integers in an array."""


def encode(value: Any) -> bytes:
    """Return an ``int`` from 0, ``bytes``, ``str``, list or dict of these. Keys of a dict are integers."""
    if isinstance(value, int):
        return _head(_UNSIGNED, value)
    if isinstance(value, bytes):
        return _head(_OCTETS, len(value)) + value
    if isinstance(value, str):
        data = value.encode()
        return _head(_TEXT, len(data)) + data
    if isinstance(value, dict):
        parts = [encode(key) + encode(value[key]) for key in sorted(value)]
        return _head(_MAP, len(parts)) + b"".join(parts)
    parts = [encode(one) for one in value]
    return _head(_ARRAY, len(parts)) + b"".join(parts)


def decode(data: bytes) -> Any:
    """Return the value. Raises ``ValueError`` for anything else than ``encode`` writes."""
    value, end = _read(data, 0, _MOST_DEPTH)
    if end != len(data):
        raise ValueError("bytes after the value")
    return value


def _head(kind: int, number: int) -> bytes:
    if number < 24:
        return bytes([kind << 5 | number])
    for info, size in ((24, 1), (25, 2), (26, 4), (27, 8)):
        if number < 1 << 8 * size:
            return bytes([kind << 5 | info]) + number.to_bytes(size)
    raise ValueError("a number beyond 64 bits")


def _read(data: bytes, at: int, depth: int) -> tuple[Any, int]:
    kind, number, at = _read_head(data, at)
    if kind == _UNSIGNED:
        return number, at
    # Each part takes a byte at least, so no count makes more work than there are bytes.
    if number > len(data) - at:
        raise ValueError("longer than the bytes")
    if kind == _OCTETS:
        return data[at : at + number], at + number
    if kind == _TEXT:
        return data[at : at + number].decode(), at + number
    if kind not in (_ARRAY, _MAP) or depth == 0:
        raise ValueError("a type that is not used here")
    if kind == _MAP:
        return _read_map(data, at, number)
    values = []
    for _ in range(number):
        value, at = _read(data, at, depth - 1)
        values.append(value)
    return values, at


def _read_map(data: bytes, at: int, count: int) -> tuple[dict[int, int], int]:
    values: dict[int, int] = {}
    previous = -1
    for _ in range(count):
        key, at = _read(data, at, 0)
        value, at = _read(data, at, 0)
        if not isinstance(key, int) or not isinstance(value, int) or key <= previous:
            raise ValueError("a map is of integers, in ascending order")
        values[key] = value
        previous = key
    return values, at


def _read_head(data: bytes, at: int) -> tuple[int, int, int]:
    if at >= len(data):
        raise ValueError("cut off")
    kind, info = data[at] >> 5, data[at] & 31
    if info < 24:
        return kind, info, at + 1
    if info > 27:
        raise ValueError("an indefinite or reserved length")
    end = at + 1 + (1 << info - 24)
    number = int.from_bytes(data[at + 1 : end])
    if end > len(data) or _head(kind, number) != data[at:end]:
        raise ValueError("a number that is not in its shortest form")
    return kind, number, end
