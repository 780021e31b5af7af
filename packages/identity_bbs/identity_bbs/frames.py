"""Unambiguous bytes of a list of fields, for what is hashed.

A frame is tag, number of fields and fields, each length-prefixed with 8 bytes, so that two different lists of fields never give one
string. Frames are fields of frames.
"""

from __future__ import annotations

from collections.abc import Iterable


def number(value: int) -> bytes:
    """Return a count, index or time in 8 bytes."""
    return value.to_bytes(8, "big")


def scalar(value: int) -> bytes:
    """Return a scalar in 32 bytes."""
    return value.to_bytes(32, "big")


def frame(tag: bytes, fields: Iterable[bytes]) -> bytes:
    """tag and fields, counted and length-prefixed."""
    items = list(fields)
    parts = [number(len(tag)), tag, number(len(items))]
    for item in items:
        parts += (number(len(item)), item)
    return b"".join(parts)


def optional(data: bytes | None) -> bytes:
    """Return a field that may be missing: nothing, or a byte and the value, so that missing and empty differ."""
    return b"" if data is None else b"\x01" + data
