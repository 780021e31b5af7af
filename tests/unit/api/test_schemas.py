from collections.abc import Iterator

import pytest
from jsonschema_rs import ValidationError

from identity_core.api.schemas import Schemas, check, to_2020_12
from identity_core.errors import InvalidRequest

SECRET = "z3u2en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq"


@pytest.mark.parametrize(
    ("openapi", "json_schema"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"], "nullable": True}),
        (
            {"type": "string", "nullable": True, "enum": ["a"]},
            {"type": ["string", "null"], "nullable": True, "enum": ["a", None]},
        ),
        ({"minimum": 1, "exclusiveMinimum": True}, {"exclusiveMinimum": 1}),
        ({"maximum": 1, "exclusiveMaximum": False}, {"maximum": 1}),
        ({"items": {"type": "integer", "nullable": True}}, {"items": {"type": ["integer", "null"], "nullable": True}}),
        ({"enum": [{"nullable": True, "type": "string"}]}, {"enum": [{"nullable": True, "type": "string"}]}),
    ],
)
def test_conversion(openapi: object, json_schema: object) -> None:
    assert to_2020_12(openapi) == json_schema


DOCUMENT = {
    "components": {
        "schemas": {
            "Tree": {
                "type": "object",
                "required": ["name"],
                "additionalProperties": False,
                "properties": {
                    "name": {"type": "string", "maxLength": 8, "pattern": "^[a-z]+$"},
                    "at": {"type": "string", "format": "date-time"},
                    "note": {"type": "string", "nullable": True},
                    "children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
                },
            }
        }
    }
}


def refusal(value: object) -> list[dict[str, str]]:
    validator = Schemas(DOCUMENT).compile({"$ref": "#/components/schemas/Tree"})
    with pytest.raises(InvalidRequest) as refused:
        check(validator, value)
    return refused.value.details["errors"]  # type: ignore[return-value]


def test_good_values_pass() -> None:
    validator = Schemas(DOCUMENT).compile({"$ref": "#/components/schemas/Tree"})
    check(validator, {"name": "a", "note": None, "at": "2030-01-01T00:00:00Z", "children": [{"name": "b"}]})


def test_every_violation_is_listed_with_its_place() -> None:
    errors = refusal({"name": "A1", "at": "yesterday", "children": [{"name": "b"}, {"na/me": 1}]})
    assert {error["path"] for error in errors} == {"/name", "/at", "/children/1"}
    assert len(errors) == 4


def test_the_list_is_capped() -> None:
    assert len(refusal({"name": "a", "children": [{}] * 50})) == 20


def test_a_larger_body_gets_the_first_violation_only() -> None:
    assert refusal({"name": "a", "children": [{}] * 127})[0]["path"].startswith("/children/")
    assert len(refusal({"name": "a", "children": [{}] * 127})) == 1
    assert len(refusal({"name": "a", "children": [{}] * 1_021})) == 1


def test_a_large_body_is_not_searched() -> None:
    (only,) = refusal({"name": "a", "children": [{}] * 1_023})
    assert only["path"] == ""
    assert "1024 values" in only["message"]


class Told:
    """Says what a validator was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def is_valid(self, value: object) -> bool:
        self.asked.append("is_valid")
        return False

    def iter_errors(self, value: object) -> Iterator[ValidationError]:
        self.asked.append("iter_errors")
        return iter(())

    def validate(self, value: object) -> None:
        self.asked.append("validate")


@pytest.mark.parametrize(
    ("values", "asked"),
    [
        (127, ["is_valid", "iter_errors"]),
        (128, ["is_valid", "validate"]),
        (1_023, ["is_valid", "validate"]),
        (1_024, ["is_valid"]),
    ],
)
def test_the_work_of_an_explanation_is_bounded(values: int, asked: list[str]) -> None:
    """The library makes every error before it gives out the first, and a copy of the whole value for it."""
    for value in ([0] * values, {str(number): 0 for number in range(values)}, [[0] * (values - 1)]):
        told = Told()
        with pytest.raises(InvalidRequest):
            check(told, value)  # type: ignore[arg-type]
        assert told.asked == asked


def test_values_are_never_quoted() -> None:
    errors = refusal({"name": SECRET, "at": SECRET, "note": [SECRET], "children": SECRET})
    assert len(errors) == 5
    assert SECRET not in str(errors)


def test_a_pattern_does_not_let_a_newline_through() -> None:
    assert refusal({"name": "abc\n"})[0]["path"] == "/name"


def test_referenced_schemas_are_included() -> None:
    named = {
        "Grove": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}},
        "Tree": {
            "properties": {"kind": {"$ref": "#/components/schemas/Kind"}, "in": {"$ref": "#/components/schemas/Grove"}}
        },
        "Kind": {"enum": ["oak"]},
        "Named": {"properties": {"kind": {"$ref": "#/components/schemas/Tree/properties/kind"}}},
    }
    schemas = Schemas({"components": {"schemas": named}})
    grove = schemas.compile({"$ref": "#/components/schemas/Grove"})
    assert grove.is_valid([{"kind": "oak", "in": [{"kind": "oak"}]}])
    assert not grove.is_valid([{"kind": "oak", "in": [{"kind": "mouse"}]}])
    part = schemas.compile({"$ref": "#/components/schemas/Named"})
    assert (part.is_valid({"kind": "oak"}), part.is_valid({"kind": "mouse"})) == (True, False)


def test_schema_that_document_does_not_have_is_refused_at_once() -> None:
    with pytest.raises(ValidationError, match="Shrub"):
        Schemas(DOCUMENT).compile({"items": {"$ref": "#/components/schemas/Shrub"}})
