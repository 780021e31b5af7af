"""A registered schema: what the issuer signs (``domain/schema.py``) and what the service asks beside it.

The policies limit what can be proved of an attribute (research/delegation.md §3.6): only at these thresholds, only by
these predicates. They are rules of the service and stand in no signature. Immutable: a credential names its schema for
good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from identity_core.domain.attributes import Attribute, TypedValue, ValueRefused
from identity_core.domain.predicate import Predicate, PredicateType, supported_by
from identity_core.domain.schema import Schema
from identity_core.errors import PredicateUnsupported

MAX_THRESHOLDS: Final = 256
MAX_UNIT: Final = 32


@dataclass(frozen=True, slots=True)
class AttributePolicy:
    """``allowed_values`` (``allowedThresholds`` on the wire) are the only values that a predicate may name, ``proof_types`` the
    only predicates; None allows all. ``unit`` is for people."""

    allowed_values: frozenset[TypedValue] | None = None
    proof_types: frozenset[PredicateType] | None = None
    unit: str | None = None


NO_POLICY: Final = AttributePolicy()


@dataclass(frozen=True, slots=True)
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

    def policy(self, attribute: str) -> AttributePolicy:
        """The policy of this attribute."""
        return self.policies.get(attribute, NO_POLICY)

    def check_predicate(self, predicate: Predicate) -> None:
        """Raises ``PredicateUnsupported`` for a predicate that the attribute's policy does not allow."""
        policy = self.policy(predicate.attribute)
        if policy.proof_types is not None and predicate.type not in policy.proof_types:
            raise PredicateUnsupported(details={"reason": "the schema does not allow this predicate of the attribute"})
        if policy.allowed_values is not None and not policy.allowed_values.issuperset(predicate.operands):
            raise PredicateUnsupported(details={"reason": "the schema does not allow this threshold of the attribute"})


def _check(policy: AttributePolicy, attribute: Attribute) -> None:
    if policy.unit is not None and not (1 <= len(policy.unit) <= MAX_UNIT and policy.unit.isprintable()):
        raise ValueRefused(f"a unit is 1 to {MAX_UNIT} printable characters")
    if policy.proof_types is not None and not policy.proof_types <= supported_by(attribute.type):
        raise ValueRefused(f"a {attribute.type.value} does not take all of these predicates")
    if policy.allowed_values is not None and len(policy.allowed_values) > MAX_THRESHOLDS:
        raise ValueRefused(f"an attribute has at most {MAX_THRESHOLDS} thresholds")
