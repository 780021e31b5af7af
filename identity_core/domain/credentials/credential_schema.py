"""A registered schema: the attributes that the issuer signs (``domain/credentials/schema.py``) and the policies of the service.

The policies restrict proofs of an attribute (openapi/DECISIONS.md §4.3): only these thresholds, only these predicates. They are
rules of the service and not part of a signature. A registered schema is immutable, because credentials refer to it permanently.

The module also has the JSON form of a registered schema: that of requests and answers, and that of the store.

A number of a domain (``minimum``, ``maximum``) has the form of a value of its attribute: a date as a date, an integer above
2^53 - 1 as a string. A limit that does not restrict the type is omitted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct, field

from identity_client.action import NOT_EQUAL, PREDICATE_NAMES
from identity_codec import jcs
from identity_codec.strict_json import JsonValue
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
from identity_core.domain.proofs.predicate import list_predicates
from identity_core.errors import InvalidSchema, PredicateUnsupported

MAX_THRESHOLDS: Final = 256
MAX_UNIT: Final = 32


class AttributePolicy(Struct, frozen=True):
    """The policy of an attribute. ``allowed_values`` (``allowedThresholds`` on the wire) are the only values that a predicate may name,
    ``proof_types`` the only predicates; None allows all. ``unit`` is a text for people."""

    allowed_values: frozenset[TypedValue] | None = None
    proof_types: frozenset[str] | None = None
    unit: str | None = None


NO_POLICY: Final = AttributePolicy()


class CredentialSchema(Struct, frozen=True):
    """A registered schema. ``policies`` are by attribute name; an attribute without an entry has no policy."""

    schema: Schema
    policies: Mapping[str, AttributePolicy] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, policy in self.policies.items():
            attribute = self.schema.attribute(name)
            if attribute is None:
                raise ValueRefused("a policy names no attribute of the schema")
            _check(policy, attribute)

    def check_predicate(self, predicate: Asked) -> None:
        """Check a predicate. Raises ``PredicateUnsupported``: when the attribute's policy does not allow it."""
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
    if policy.proof_types is not None and not policy.proof_types <= {*list_predicates(attribute.type), NOT_EQUAL}:
        raise ValueRefused(f"a {attribute.type.value} does not take all of these predicates")
    if policy.allowed_values is not None and len(policy.allowed_values) > MAX_THRESHOLDS:
        raise ValueRefused(f"an attribute has at most {MAX_THRESHOLDS} thresholds")


def digest(definition: CredentialSchema) -> bytes:
    """Return SHA-256 of the JCS of id and registered attributes with policies. It identifies the schema of a credential of suite 2."""
    attributes: list[JsonValue] = [*attributes_json(definition)]
    return sha256(jcs.canonicalize({"attributes": attributes, "id": definition.schema.id})).digest()


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY: Final = date(1970, 1, 1).toordinal()

MAX_THRESHOLDS_IN_ALL: Final = 512

# A subject's id is not a claim about it, and JSON-LD reserves these names.
RESERVED: Final = frozenset({"id", "type"})


def attributes_json(definition: CredentialSchema) -> list[dict[str, JsonValue]]:
    """Return the attributes as JSON, which ``read`` parses."""
    policies = definition.policies
    return [_attribute_json(one, policies.get(one.name, NO_POLICY)) for one in definition.schema.attributes]


def read(schema_id: str, attributes: Sequence[Mapping[str, Any]]) -> CredentialSchema:
    """Return the schema of its JSON form, whose shape was checked before. Raises ``InvalidSchema``; ``details.attribute`` counts from 0."""
    read_ones = []
    for place, member in enumerate(attributes):
        try:
            read_ones.append(_read_attribute(member))
        except ValueRefused as refused:
            raise InvalidSchema(details={"reason": str(refused), "attribute": place}) from None
    policies = {attribute.name: policy for attribute, policy in read_ones if policy != NO_POLICY}
    try:
        schema = Schema(schema_id, tuple(attribute for attribute, _ in read_ones))
        # Without this check, only the first issuance would report a header that is too long to be signed.
        schema.header  # noqa: B018
        return CredentialSchema(schema, policies)
    except ValueRefused as refused:
        raise InvalidSchema(details={"reason": str(refused)}) from None


def check_size(attributes: Sequence[Mapping[str, Any]]) -> None:
    """Check the size of a new schema; stored ones have no limit. Raises ``InvalidSchema``: when it has too many thresholds."""
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
    """Return the value of an ordered attribute for ``number``."""
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
