"""The schema of a credential: the header and the messages that the issuer signs (PROTOCOL.md §2).

The header has only data that all holders of the schema share. It begins with a tag that no other header of the same key can begin
with. It has one canonical form: a reader serialises it again and compares.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from msgspec import Struct

from identity_codec import jcs, strict_json
from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.attributes import (
    NULL_OCTETS,
    NULL_SCALAR,
    Attribute,
    AttributeType,
    TypedValue,
    ValueRefused,
)

HEADER_TAG = b"IDENTITY-SERVICE-CREDENTIAL-V1:"
MAX_HEADER_OCTETS = 16_384
MAX_ATTRIBUTES = 64
MAX_SCHEMA_ID = 512

Message = bytes | int
"""The signed message of a slot: bytes, which BBS maps to a scalar, or the scalar itself in a numeric slot."""


class Schema(Struct, frozen=True):
    """A schema: attributes in their order. Slots: the hashed ones first, in that order, then the numeric ones."""

    id: str
    attributes: tuple[Attribute, ...]

    def __post_init__(self) -> None:
        if not 1 <= len(self.id) <= MAX_SCHEMA_ID or not self.id.isprintable():
            raise ValueRefused(f"a schema id is 1 to {MAX_SCHEMA_ID} printable characters")
        if not 1 <= len(self.attributes) <= MAX_ATTRIBUTES:
            raise ValueRefused(f"a schema has 1 to {MAX_ATTRIBUTES} attributes")
        if len({attribute.name for attribute in self.attributes}) != len(self.attributes):
            raise ValueRefused("two attributes of the schema have one name")

    def attribute(self, name: str) -> Attribute | None:
        """Return the attribute of this name, or None."""
        return next((attribute for attribute in self.attributes if attribute.name == name), None)

    def hashed_slot(self, name: str) -> int:
        """Return the slot of the attribute's bytes. Raises ``KeyError``: when the name is unknown."""
        return _slots(self)[name][0]

    def numeric_slot(self, name: str) -> int:
        """Return the slot of the attribute's number. Raises ``KeyError``: when the name is unknown or the attribute is not ordered."""
        slot = _slots(self)[name][1]
        if slot is None:
            raise KeyError(name)
        return slot

    def read(self, name: str, values: Mapping[str, JsonValue]) -> TypedValue | None:
        """Return the typed value of the attribute ``name`` among JSON ``values``, None for null. Raises ``KeyError``, ``ValueRefused``."""
        attribute, value = self.attribute(name), values[name]
        if attribute is None:
            raise KeyError(name)
        return None if value is None else attribute.read(value)

    @property
    def message_count(self) -> int:
        """Return the number of messages that the signature covers."""
        return len(self.attributes) + sum(attribute.type.ordered for attribute in self.attributes)

    @property
    def header(self) -> bytes:
        """Return the canonical bytes of the signed header."""
        return _header(self)

    @classmethod
    def from_header(cls, data: bytes) -> Schema:
        """Return the schema of a signed header. Raises ``ValueRefused``: when the bytes are not the canonical form of a schema."""
        return _from_header(data)

    def messages(self, values: Mapping[str, JsonValue]) -> tuple[Message, ...]:
        """Return the messages of all slots, from JSON values. Every name must be present; null must be explicit.

        Raises ``ValueRefused``.
        """
        if values.keys() != {attribute.name for attribute in self.attributes}:
            raise ValueRefused("the values do not name exactly the attributes of the schema")
        hashed: list[Message] = []
        numeric: list[Message] = []
        for attribute in self.attributes:
            value = values[attribute.name]
            typed = None if value is None else attribute.read(value)
            hashed.append(NULL_OCTETS if typed is None else typed.encoded)
            if attribute.type.ordered:
                numeric.append(NULL_SCALAR if typed is None else typed.scalar)
        return (*hashed, *numeric)


@lru_cache(maxsize=256)
def _slots(schema: Schema) -> dict[str, tuple[int, int | None]]:
    slots: dict[str, tuple[int, int | None]] = {}
    numeric = len(schema.attributes)
    for slot, attribute in enumerate(schema.attributes):
        slots[attribute.name] = (slot, numeric if attribute.type.ordered else None)
        numeric += attribute.type.ordered
    return slots


def attribute_members(schema: Schema, first_slot: int = 0) -> list[dict[str, Any]]:
    """Return the attributes in the form of a signed header, with their slots counted from ``first_slot``."""
    attributes: list[dict[str, Any]] = []
    for attribute in schema.attributes:
        slot, numeric = _slots(schema)[attribute.name]
        member: dict[str, Any] = {"name": attribute.name, "slot": first_slot + slot, "type": attribute.type.value}
        if numeric is not None:
            # Numbers of 64 bits are strings, because JSON parsers round them.
            domain = [str(bound) for bound in attribute.domain]
            member |= {"numericSlot": first_slot + numeric, "domain": domain}
        if attribute.type is AttributeType.DECIMAL:
            member["scale"] = attribute.scale
        attributes.append(member)
    return attributes


def read_schema(value: Mapping[str, Any]) -> Schema:
    """Return the schema of the members ``schema`` and ``attributes`` of a header; the caller must compare their slots. Raises
    ``KeyError``, ``TypeError``, ``ValueError`` or ``AttributeError``."""
    return Schema(value["schema"], tuple(_attribute(member) for member in value["attributes"]))


@lru_cache(maxsize=256)
def _header(schema: Schema) -> bytes:
    data = HEADER_TAG + jcs.canonicalize({"attributes": attribute_members(schema), "schema": schema.id})
    if len(data) > MAX_HEADER_OCTETS:
        raise ValueRefused(f"the header is longer than {MAX_HEADER_OCTETS} bytes")
    return data


@lru_cache(maxsize=256)
def _from_header(data: bytes) -> Schema:
    if len(data) > MAX_HEADER_OCTETS or not data.startswith(HEADER_TAG):
        raise ValueRefused("not the header of a credential of this kind")
    try:
        schema = read_schema(strict_json.loads(data[len(HEADER_TAG) :]))
        canonical = schema.header
    except (KeyError, TypeError, ValueError, AttributeError):
        raise ValueRefused("not the header of a credential of this kind") from None
    if canonical != data:
        raise ValueRefused("the header is not in its canonical form")
    return schema


def _attribute(member: dict[str, Any]) -> Attribute:
    kind = AttributeType(member["type"])
    if not kind.ordered:
        return Attribute(member["name"], kind)
    low, high = member["domain"]
    return Attribute(member["name"], kind, member.get("scale", 0), int(low), int(high))
