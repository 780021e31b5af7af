"""Schemas as they are registered: their JSON form, and the policies that limit what is proved."""

from __future__ import annotations

from typing import Any

import pytest

from identity_codec.strict_json import JsonValue
from identity_core.domain.credentials import credential_schema as schema_json
from identity_core.domain.proofs.predicate import Predicate
from identity_core.errors import InvalidSchema, PredicateUnsupported
from tests.credentials import ATTRIBUTES, a_schema

INTEGER = {"name": "a", "type": "integer"}


def test_the_json_form_comes_back_as_it_went() -> None:
    assert schema_json.attributes_json(a_schema("urn:x:1")) == ATTRIBUTES


@pytest.mark.parametrize(
    "attribute",
    [
        {"name": "a", "type": "integer", "minimum": "-9007199254740993", "maximum": "9223372036854775806"},
        {"name": "a", "type": "decimal", "scale": 3, "minimum": "-1.500", "maximum": "2.000"},
        {"name": "a", "type": "date", "minimum": "0001-01-02", "maximum": "9999-12-30"},
        {"name": "a", "type": "datetime", "minimum": "1969-12-31T23:59:59.000001Z", "maximum": "2026-01-01T00:00:00Z"},
        {"name": "a", "type": "string", "allowedThresholds": ["JP", "café"], "proofTypes": ["eq", "set_member"]},
        {"name": "a", "type": "boolean", "allowedThresholds": [True]},
        {"name": "a", "type": "integer", "allowedThresholds": []},
    ],
)
def test_every_type_comes_back_as_it_went(attribute: dict[str, Any]) -> None:
    assert schema_json.attributes_json(schema_json.read("urn:x:1", [attribute])) == [attribute]


def test_bounds_are_signed_and_policies_are_not() -> None:
    plain, narrowed = (schema_json.read("urn:x:1", [INTEGER | more]) for more in ({}, {"maximum": 9}))
    limited = schema_json.read("urn:x:1", [INTEGER | {"allowedThresholds": [1], "proofTypes": ["eq"], "unit": "m"}])
    assert plain.schema.header != narrowed.schema.header
    assert plain.schema.header == limited.schema.header


@pytest.mark.parametrize(
    "attributes",
    [
        [INTEGER, INTEGER],
        [{"name": "id", "type": "string"}],
        [{"name": "type", "type": "string"}],
        [{"name": "@id", "type": "string"}],
        [{"name": "a\n", "type": "string"}],
        [{"name": "e\u0301", "type": "string"}],
        [{"name": "a", "type": "float"}],
        [INTEGER | {"scale": 1}],
        [{"name": "a", "type": "string", "minimum": "b"}],
        [{"name": "a", "type": "boolean", "maximum": True}],
        [INTEGER | {"minimum": 5, "maximum": 5}],
        [INTEGER | {"minimum": 1.5}],
        [INTEGER | {"maximum": 9, "allowedThresholds": [10]}],
        [INTEGER | {"allowedThresholds": list(range(257))}],
        [INTEGER | {"proofTypes": ["near"]}],
        [{"name": "a", "type": "boolean", "proofTypes": ["gte"]}],
        [INTEGER | {"unit": "\u202e"}],
        [
            {"name": f"{place:02}" + "\U0001d41a" * 62, "type": "integer", "minimum": "-9007199254740993"}
            for place in range(64)
        ],
    ],
    ids=range(18),
)
def test_malformed_schema_is_refused(attributes: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidSchema):
        schema_json.read("urn:x:1", attributes)


def test_the_place_of_the_fault_is_named() -> None:
    with pytest.raises(InvalidSchema) as refused:
        schema_json.read("urn:x:1", [INTEGER, {"name": "b", "type": "float"}])
    reason = "unknown attribute type; there are integer, decimal, date, datetime, boolean, string"
    assert refused.value.details == {"attribute": 1, "reason": reason}


@pytest.mark.parametrize(
    ("asked", "allowed"),
    [
        (("age", "gte", 18), True),
        (("age", "lt", 21), True),
        (("age", "gte", 19), False),
        (("age", "set_member", [18, 21]), True),
        (("age", "set_member", [18, 20]), False),
        (("name", "eq", "Hana"), True),
        (("name", "set_member", ["Hana", "Ivo"]), False),
        (("income", "gt", "1.5"), True),
    ],
)
def test_policies_decide_what_may_be_proved(asked: tuple[str, str, JsonValue], allowed: bool) -> None:
    definition = a_schema()
    predicate = Predicate.parse(definition.schema, *asked)
    if allowed:
        definition.check_predicate(predicate)
        return
    with pytest.raises(PredicateUnsupported) as refused:
        definition.check_predicate(predicate)
    assert str(asked[2]) not in str(refused.value.details)
