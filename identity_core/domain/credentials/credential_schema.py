"""A registered schema: what the issuer signs (``domain/credentials/schema.py``) and what the service asks beside it.

The policies limit what can be proved of an attribute (openapi/DECISIONS.md §4.3): only at these thresholds, only by
these predicates. They are rules of the service and stand in no signature. Immutable: a credential names its schema for
good.

The JSON form of a registered schema: that of requests and answers, and that of the store.

A number of a domain (``minimum``, ``maximum``) is written like a value of its attribute: a date as a date, an integer past
2^53 - 1 as a string. What is not narrower than the type is not written.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from identity_client.action import NOT_EQUAL, PREDICATE_NAMES
from identity_codec import jcs
from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.domain.credentials.attributes import (
    DOMAINS,
    Attribute,
    AttributeType,
    TypedValue,
    ValueRefused,
    decimal_text,
)
from identity_core.domain.credentials.schema import Schema
from identity_core.domain.proofs.asked import Asked
from identity_core.domain.proofs.predicate import supported_by
from identity_core.errors import InvalidSchema, PredicateUnsupported

MAX_THRESHOLDS: Final = 256
MAX_UNIT: Final = 32


@value_class
class AttributePolicy:
    """``allowed_values`` (``allowedThresholds`` on the wire) are the only values that a predicate may name, ``proof_types`` the
    only predicates; None allows all. ``unit`` is for people."""

    allowed_values: frozenset[TypedValue] | None = None
    proof_types: frozenset[str] | None = None
    unit: str | None = None


NO_POLICY: Final = AttributePolicy()


@value_class
class CredentialSchema:
    """``policies`` by attribute name; an attribute that is not there has none."""

    schema: Schema
    policies: Mapping[str, AttributePolicy] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, policy in self.policies.items():
            attribute = self.schema.attribute(name)
            if attribute is None:
                raise ValueRefused("a policy names no attribute of the schema")
            _check(policy, attribute)

    def check_predicate(self, predicate: Asked) -> None:
        """Raises ``PredicateUnsupported`` for a predicate that the attribute's policy does not allow."""
        policy = self.policies.get(predicate.attribute, NO_POLICY)
        if policy.proof_types is not None and predicate.type not in policy.proof_types:
            raise PredicateUnsupported(details={"reason": "the schema does not allow this predicate of the attribute"})
        if policy.allowed_values is not None and not policy.allowed_values.issuperset(predicate.operands):
            raise PredicateUnsupported(details={"reason": "the schema does not allow this threshold of the attribute"})

    def check_same(self, name: str) -> None:
        """Require that the attribute may be compared with an attribute of another credential.

        Raises ``PredicateUnsupported``: when the policy of the attribute restricts proof types or values. The issuer of the other
        credential chooses its value, so a comparison would test a value of that issuer's choice."""
        policy = self.policies.get(name, NO_POLICY)
        if policy.proof_types is not None or policy.allowed_values is not None:
            raise PredicateUnsupported(details={"reason": "the schema does not allow to compare the attribute"})


def _check(policy: AttributePolicy, attribute: Attribute) -> None:
    if policy.unit is not None and not (1 <= len(policy.unit) <= MAX_UNIT and policy.unit.isprintable()):
        raise ValueRefused(f"a unit is 1 to {MAX_UNIT} printable characters")
    if policy.proof_types is not None and not policy.proof_types <= {*supported_by(attribute.type), NOT_EQUAL}:
        raise ValueRefused(f"a {attribute.type.value} does not take all of these predicates")
    if policy.allowed_values is not None and len(policy.allowed_values) > MAX_THRESHOLDS:
        raise ValueRefused(f"an attribute has at most {MAX_THRESHOLDS} thresholds")


def digest(definition: CredentialSchema) -> bytes:
    """SHA-256 of the JCS of id and attributes as they are registered, policies included: which schema a credential of suite 2 is of."""
    attributes: list[JsonValue] = [*attributes_json(definition)]
    return sha256(jcs.canonicalize({"attributes": attributes, "id": definition.schema.id})).digest()


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()

MAX_THRESHOLDS_IN_ALL: Final = 512

# A subject's id is no claim about it, and JSON-LD keeps these names for itself.
RESERVED: Final = frozenset({"id", "type"})


def attributes_json(definition: CredentialSchema) -> list[dict[str, JsonValue]]:
    """The attributes that ``read`` reads."""
    policies = definition.policies
    return [_attribute_json(one, policies.get(one.name, NO_POLICY)) for one in definition.schema.attributes]


def read(schema_id: str, attributes: Sequence[Mapping[str, Any]]) -> CredentialSchema:
    """The schema of its JSON form; the shape was checked before. Raises ``InvalidSchema``; ``details.attribute`` counts from 0."""
    read_ones = []
    for place, member in enumerate(attributes):
        try:
            read_ones.append(_read_attribute(member))
        except ValueRefused as refused:
            raise InvalidSchema(details={"reason": str(refused), "attribute": place}) from None
    policies = {attribute.name: policy for attribute, policy in read_ones if policy != NO_POLICY}
    try:
        schema = Schema(schema_id, tuple(attribute for attribute, _ in read_ones))
        # A schema whose header is too long to be signed would be found out by the first issuer.
        schema.header  # noqa: B018
        return CredentialSchema(schema, policies)
    except ValueRefused as refused:
        raise InvalidSchema(details={"reason": str(refused)}) from None


def check_size(attributes: Sequence[Mapping[str, Any]]) -> None:
    """Raises ``InvalidSchema`` for more thresholds than a new schema may have. Older ones are read however many they have."""
    if sum(len(member.get("allowedThresholds", ())) for member in attributes) > MAX_THRESHOLDS_IN_ALL:
        raise InvalidSchema(details={"reason": f"a schema has at most {MAX_THRESHOLDS_IN_ALL} thresholds in all"})


def _attribute_json(attribute: Attribute, policy: AttributePolicy) -> dict[str, JsonValue]:
    shown: dict[str, JsonValue] = {"name": attribute.name, "type": attribute.type.value}
    if attribute.type is AttributeType.DECIMAL:
        shown["scale"] = attribute.scale
    if attribute.type.ordered:
        widest = DOMAINS[attribute.type]
        for name, number, edge in zip(("minimum", "maximum"), attribute.domain, widest, strict=True):
            if number != edge:
                shown[name] = _written(attribute, number).json
    if policy.unit is not None:
        shown["unit"] = policy.unit
    if policy.allowed_values is not None:
        ordered = sorted(policy.allowed_values, key=lambda value: (value.number or 0, value.text))
        shown["allowedThresholds"] = [value.json for value in ordered]
    if policy.proof_types is not None:
        shown["proofTypes"] = [kind for kind in PREDICATE_NAMES if kind in policy.proof_types]
    return shown


def _read_attribute(member: Mapping[str, Any]) -> tuple[Attribute, AttributePolicy]:
    name = member["name"]
    if name in RESERVED or name.startswith("@"):
        raise ValueRefused("id, type and names that begin with @ belong to the credential itself")
    if member["type"] not in {kind.value for kind in AttributeType}:
        raise ValueRefused(f"unknown attribute type; there are {', '.join(kind.value for kind in AttributeType)}")
    kind = AttributeType(member["type"])
    widest = Attribute(name, kind, member.get("scale", 0))
    low, high = (_edge(widest, member.get(edge)) for edge in ("minimum", "maximum"))
    attribute = Attribute(name, kind, widest.scale, low, high)
    return attribute, AttributePolicy(
        allowed_values=_values(attribute, member.get("allowedThresholds")),
        proof_types=_types(member.get("proofTypes")),
        unit=member.get("unit"),
    )


def _edge(attribute: Attribute, value: JsonValue) -> int | None:
    if value is None:
        return None
    number = attribute.read(value).number
    if number is None:
        raise ValueRefused(f"a {attribute.type.value} has no domain to narrow")
    return number


def _values(attribute: Attribute, values: Sequence[JsonValue] | None) -> frozenset[TypedValue] | None:
    return None if values is None else frozenset(map(attribute.read, values))


def _types(names: Sequence[str] | None) -> frozenset[str] | None:
    if names is None:
        return None
    if not set(names) <= set(PREDICATE_NAMES):
        raise ValueRefused("unknown predicate type")
    return frozenset(names)


def _written(attribute: Attribute, number: int) -> TypedValue:
    """The value that an ordered attribute has at ``number``."""
    match attribute.type:
        case AttributeType.DECIMAL:
            text = decimal_text(number, attribute.scale)
        case AttributeType.DATE:
            text = date.fromordinal(number + _EPOCH_DAY).isoformat()
        case AttributeType.DATETIME:
            text = (_EPOCH + timedelta(microseconds=number)).isoformat().replace("+00:00", "Z")
        case _:
            text = str(number)
    return TypedValue(attribute.type, text, number)
