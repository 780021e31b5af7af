"""Predicates of requests, and the goals that a proof proves, at most one for each slot (PROTOCOL.md §3).

``normalise`` computes the normal form of several predicates from public data; prover and verifier compute the same. Bounds of one
attribute intersect to one exact interval. Bounds and other sets filter a set. An interval of one value and a set of one element become an
equality. An equality decides all other predicates of its attribute. A predicate that is empty, trivial or of the wrong type is refused.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from hmac import compare_digest

from msgspec import Struct

from identity_client.action import MAX_SET_SIZE, PredicateType
from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials.attributes import (
    NULL_OCTETS,
    NULL_SCALAR,
    OFFSET,
    Attribute,
    AttributeType,
    TypedValue,
    ValueRefused,
)
from identity_core.domain.credentials.schema import Message, Schema
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported

MAX_PREDICATES = 16

_TYPES: Mapping[str, PredicateType] = {kind.value: kind for kind in PredicateType}
_BOUNDS = (PredicateType.GTE, PredicateType.GT, PredicateType.LTE, PredicateType.LT)
_SUPPORTED: Mapping[AttributeType, frozenset[PredicateType]] = {
    kind: frozenset(
        PredicateType
        if kind.ordered
        else {PredicateType.EQ}
        if kind is AttributeType.BOOLEAN
        else {PredicateType.EQ, PredicateType.SET_MEMBER}
    )
    for kind in AttributeType
}


_COMPARISONS: Mapping[PredicateType, Callable[[int, int], bool]] = {
    PredicateType.GTE: operator.ge,
    PredicateType.GT: operator.gt,
    PredicateType.LTE: operator.le,
    PredicateType.LT: operator.lt,
    PredicateType.EQ: operator.eq,
    PredicateType.SET_MEMBER: operator.eq,
}


def list_predicates(kind: AttributeType) -> frozenset[PredicateType]:
    """Return the predicates that apply to attributes of this type."""
    return _SUPPORTED[kind]


class Predicate(Struct, frozen=True):
    """One predicate in its canonical form; create it with ``Predicate.parse``.

    ``operands`` has the one value, or the set without duplicates in ascending order (of numbers, or of texts).
    """

    attribute: str
    type: PredicateType
    operands: tuple[TypedValue, ...]

    @classmethod
    def parse(cls, schema: Schema, attribute: str, type_: str, value: JsonValue) -> Predicate:
        """Parse the predicate of a request. Raises ``PredicateUnsupported``; ``details.reason`` states the cause."""
        found = schema.attribute(attribute)
        if found is None:
            raise unsupported("the schema has no such attribute")
        kind = _TYPES.get(type_)
        if kind is None:
            raise unsupported("unknown predicate type")
        if kind not in _SUPPORTED[found.type]:
            raise unsupported(f"{kind.value} does not apply to a {found.type.value}")
        try:
            if not kind.takes_array:
                predicate = cls(attribute, kind, (found.accept(value),))
                if kind in _BOUNDS:
                    _interval(found, [predicate])
                return predicate
            return cls(attribute, kind, _set(found, value))
        except ValueRefused as refused:
            raise unsupported(str(refused)) from None

    def holds(self, value: TypedValue | None) -> bool:
        """Return whether a value of its attribute satisfies it; null (None) never does. Compare every operand, and texts to their end,
        because the position of a value among them is a secret."""
        if self.operands[0].number is None:
            data = NULL_OCTETS if value is None else value.encoded
            return sum([compare_digest(data, each.encoded) for each in self.operands]) > 0
        scalar, compare = NULL_SCALAR if value is None else value.scalar, _COMPARISONS[self.type]
        return (sum([compare(scalar, each.scalar) for each in self.operands]) > 0) & (scalar != NULL_SCALAR)

    @property
    def value(self) -> JsonValue:
        """Return the canonical JSON form of the value."""
        if self.type.takes_array:
            return [operand.json for operand in self.operands]
        return self.operands[0].json

    @property
    def json(self) -> dict[str, JsonValue]:
        """Return the ``ZKPredicate`` of the OpenAPI document."""
        return {"attributeName": self.attribute, "type": self.type.value, "value": self.value}


class InRange(Struct, frozen=True):
    """The goal that the slot's scalar is in [low, high] as an integer; 0 <= low < high < 2^64."""

    slot: int
    low: int
    high: int

    def admits(self, message: Message) -> bool:
        """Return whether a message of this slot satisfies the goal."""
        # Both bounds are always compared.
        return isinstance(message, int) and (self.low <= message) & (message <= self.high)


class Equals(Struct, frozen=True):
    """The goal that the slot has this message: a scalar in a numeric slot, bytes (which are then disclosed) in a hashed one."""

    slot: int
    message: Message

    def admits(self, message: Message) -> bool:
        """Return whether a message of this slot satisfies the goal."""
        return type(message) is type(self.message) and message == self.message


class MemberOf(Struct, frozen=True):
    """The goal that the slot has one of these messages; at least two, all scalars or all bytes, in ascending order."""

    slot: int
    messages: tuple[Message, ...]

    def admits(self, message: Message) -> bool:
        """Return whether a message of this slot satisfies the goal."""
        # The whole set is compared, and texts to their end, because the position of the message is a secret.
        if isinstance(message, bytes):
            found = [isinstance(each, bytes) and compare_digest(message, each) for each in self.messages]
        else:
            found = [message == each for each in self.messages]
        return sum(found) > 0


Goal = InRange | Equals | MemberOf


def normalise(schema: Schema, predicates: Sequence[Predicate]) -> tuple[Goal, ...]:
    """Return one goal for each attribute of the predicates, in the order of slots. Raises ``PredicateUnsupported``."""
    if not 1 <= len(predicates) <= MAX_PREDICATES:
        raise unsupported(f"a statement has 1 to {MAX_PREDICATES} predicates")
    sets = [predicate.operands for predicate in predicates if predicate.type is PredicateType.SET_MEMBER]
    check_elements(sum(map(len, sets)))
    asked: dict[str, list[Predicate]] = {}
    for predicate in predicates:
        asked.setdefault(predicate.attribute, []).append(predicate)
    goals: list[Goal] = []
    for name, group in asked.items():
        attribute = schema.attribute(name)
        if attribute is None:
            raise unsupported("the schema has no such attribute")
        goals.append(_goal(schema, attribute, group))
    return tuple(sorted(goals, key=lambda goal: goal.slot))


def check_elements(count: int) -> None:
    """Check the size of a statement. Raises ``PredicateUnsupported``: when its sets together have too many elements."""
    if count > MAX_SET_SIZE:
        raise unsupported(f"the sets of a statement have more than {MAX_SET_SIZE} elements in all")


def check_satisfied(goals: Sequence[Goal], messages: Sequence[Message]) -> None:
    """Check the goals. Raises ``PredicateNotSatisfied``, which contains neither the value nor the failed goal."""
    satisfied = [goal.admits(messages[goal.slot]) for goal in goals]
    if not all(satisfied):
        raise PredicateNotSatisfied()


def unsupported(reason: str) -> PredicateUnsupported:
    """Return the refusal of an unsupported predicate, with its reason."""
    return PredicateUnsupported(details={"reason": reason})


def _set(attribute: Attribute, value: JsonValue) -> tuple[TypedValue, ...]:
    if not isinstance(value, list) or not 1 <= len(value) <= MAX_SET_SIZE:
        raise ValueRefused(f"a set is an array of 1 to {MAX_SET_SIZE} values")
    # Texts may become equal only after normalisation, so duplicates are removed here and not earlier.
    elements = {_order(element): element for element in map(attribute.accept, value)}
    return tuple(elements[key] for key in sorted(elements))


def _order(element: TypedValue) -> tuple[int, str]:
    return (0, element.text) if element.number is None else (element.number, "")


def _goal(schema: Schema, attribute: Attribute, group: Sequence[Predicate]) -> Goal:
    sets = [predicate.operands for predicate in group if predicate.type not in _BOUNDS]
    if not attribute.type.ordered:
        return _among(schema.hashed_slot(attribute.name), tuple(value.encoded for value in _common(sets)))
    slot = schema.numeric_slot(attribute.name)
    bounds = [predicate for predicate in group if predicate.type in _BOUNDS]
    low, high = _interval(attribute, bounds) if bounds else attribute.domain
    if sets:
        inside = [value for value in _common(sets) if value.number is not None and low <= value.number <= high]
        return _among(slot, tuple(value.scalar for value in inside))
    if low == high:
        return Equals(slot, low + OFFSET)
    return InRange(slot, low + OFFSET, high + OFFSET)


def _interval(attribute: Attribute, bounds: Sequence[Predicate]) -> tuple[int, int]:
    """Return the numbers that satisfy every bound: one exact interval, for all operators."""
    low, high = attribute.domain
    for predicate in bounds:
        number = predicate.operands[0].number
        if number is None:
            raise ValueRefused("a bound on a value without an order")
        if predicate.type in (PredicateType.GTE, PredicateType.GT):
            low = max(low, number + (predicate.type is PredicateType.GT))
        else:
            high = min(high, number - (predicate.type is PredicateType.LT))
    if low > high:
        raise unsupported("no value of the attribute's domain can satisfy the predicates")
    if (low, high) == attribute.domain:
        raise unsupported("every value of the attribute's domain satisfies the predicate")
    return low, high


def _common(sets: Sequence[Sequence[TypedValue]]) -> list[TypedValue]:
    """Return the elements that all sets share, in ascending order."""
    if len(sets) == 1:
        return list(sets[0])
    shared = set(sets[0]).intersection(*sets[1:])
    return [element for element in sets[0] if element in shared]


def _among(slot: int, messages: tuple[Message, ...]) -> Goal:
    if not messages:
        raise unsupported("no value can satisfy the predicates together")
    return Equals(slot, messages[0]) if len(messages) == 1 else MemberOf(slot, messages)
