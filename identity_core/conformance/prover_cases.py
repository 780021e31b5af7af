"""What the prover kit asks, and how it looks through a proof for what should not be there."""

from __future__ import annotations

import re
from collections.abc import Iterator

from identity_core.codec.multibase import base64url_decode, base64url_encode
from identity_core.conformance.credentials import SCHEMA
from identity_core.domain.proof import ZkProof
from identity_core.errors import JsonValue

Asked = tuple[str, str, JsonValue]

HOLDS: tuple[Asked, ...] = (
    ("balance", "gte", 7_318_204_915_663),
    ("balance", "gt", 7_318_204_915_662),
    ("balance", "lte", 7_318_204_915_663),
    ("balance", "lt", "9223372036854775807"),
    ("balance", "eq", 7_318_204_915_663),
    ("score", "gte", 1),
    ("score", "set_member", [210, 211, 3]),
    ("height", "lte", "168.25"),
    ("height", "eq", "168.25"),
    ("birthDate", "lt", "2008-01-02"),
    ("birthDate", "set_member", ["1969-04-01", "1900-01-01"]),
    ("lastSeen", "gte", "2026-01-01T00:00:00Z"),
    ("country", "set_member", ["DE", "JP", "ES"]),
    ("country", "eq", "JP"),
    ("resident", "eq", True),
)
FAILS: tuple[Asked, ...] = (
    ("balance", "gte", 7_318_204_915_664),
    ("balance", "gt", 7_318_204_915_663),
    ("balance", "lte", 7_318_204_915_662),
    ("balance", "lt", 7_318_204_915_663),
    ("balance", "eq", 7_318_204_915_664),
    ("score", "set_member", [210, 212]),
    ("country", "set_member", ["DE", "jp"]),
    ("country", "eq", "JPN"),
    ("resident", "eq", False),
    ("debt", "gte", 0),
    ("debt", "lte", 0),
    ("debt", "eq", 0),
    ("debt", "set_member", [0, 1]),
)
UNSUPPORTED: tuple[Asked, ...] = (
    ("nonesuch", "gte", 1),
    ("balance", "between", 1),
    ("name", "gte", "A"),
    ("resident", "gte", True),
    ("balance", "gte", "12"),
    ("balance", "gte", 1.5),
    ("balance", "gte", True),
    ("balance", "gte", None),
    ("score", "gte", 256),
    ("score", "gte", 0),
    ("score", "gt", 255),
    ("score", "set_member", []),
    ("score", "set_member", 7),
    ("height", "gte", "1.234"),
    ("birthDate", "gte", "1969-02-29"),
    ("lastSeen", "gte", "2026-01-01T00:00:00"),
)


def views(proof: ZkProof) -> bytes:
    """The proof and everything that can be decoded out of it, as a stranger would look through it."""
    seen = [proof.proof.encode(), *(signal.encode() for signal in proof.public_signals)]
    for layer in range(3):
        for token in re.findall(rb"[A-Za-z0-9_-]{8,}", b" ".join(seen[layer:])):
            try:
                seen.append(base64url_decode(token.decode()))
            except ValueError:
                continue
    return b" ".join(seen)


def runs(octets: bytes, length: int) -> set[bytes]:
    """All runs of this many octets."""
    return {octets[start : start + length] for start in range(len(octets) - length + 1)}


def traces(name: str, value: JsonValue) -> Iterator[bytes]:
    """The forms in which a value would show, if it did."""
    attribute = SCHEMA.attribute(name)
    if attribute is None or value is None or attribute.type == "boolean":
        return
    typed = attribute.read(value)
    octets = [typed.text.encode()] if len(typed.text) > 4 else []
    if typed.number is not None and abs(typed.number) > 1 << 32:
        octets += [typed.scalar.to_bytes(8, "big"), typed.scalar.to_bytes(8, "little"), str(typed.scalar).encode()]
    for form in octets:
        yield from (form, form.hex().encode(), base64url_encode(form).encode())
