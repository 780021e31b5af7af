"""Predicates of requests: those that every prover supports, and ``neq``, which only suite 2 proves (PROTOCOL-2.md §4.1)."""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from typing import Any

from msgspec import Struct

from identity_client.action import NOT_EQUAL
from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.attributes import NULL_OCTETS, NULL_SCALAR, TypedValue, ValueRefused
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.predicate import Predicate, unsupported


class NotEqual(Struct, frozen=True):
    """The predicate that the attribute has a value, which differs from this one."""

    attribute: str
    operand: TypedValue

    @property
    def type(self) -> str:
        """See ``Predicate.type``."""
        return NOT_EQUAL

    @property
    def operands(self) -> tuple[TypedValue, ...]:
        """See ``Predicate.operands``."""
        return (self.operand,)

    def holds(self, value: TypedValue | None) -> bool:
        """See ``Predicate.holds``; return False for null (None)."""
        if self.operand.number is None:
            data = NULL_OCTETS if value is None else value.encoded
            return not (compare_digest(data, self.operand.encoded) | compare_digest(data, NULL_OCTETS))
        scalar = NULL_SCALAR if value is None else value.scalar
        return (scalar != self.operand.scalar) & (scalar != NULL_SCALAR)

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return the JSON form of a question."""
        return {"attributeName": self.attribute, "type": NOT_EQUAL, "value": self.operand.json}


Asked = Predicate | NotEqual


def parse_asked(schema: Schema, value: Mapping[str, Any]) -> Asked:
    """Parse a predicate from its JSON form. Raises ``PredicateUnsupported``."""
    if value.keys() != {"attributeName", "type", "value"}:
        raise unsupported("a predicate has attributeName, type and value")
    name, kind = value["attributeName"], value["type"]
    if not isinstance(name, str) or not isinstance(kind, str):
        raise unsupported("attributeName and type are texts")
    if kind != NOT_EQUAL:
        return Predicate.parse(schema, name, kind, value["value"])
    attribute = schema.attribute(name)
    if attribute is None:
        raise unsupported("the schema has no such attribute")
    try:
        return NotEqual(name, attribute.accept(value["value"]))
    except ValueRefused as fault:
        raise unsupported(str(fault)) from None
