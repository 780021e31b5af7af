import msgspec
import pytest

from identity_codec.structs import UNSET, Types, convert, encode, plain, python_name, value_or

DOCUMENT = {
    "paths": {
        "/things": {
            "get": {
                "operationId": "listThings",
                "parameters": [
                    {"name": "limit", "in": "query", "schema": {"type": "integer", "default": 50}},
                    {"name": "from", "in": "query", "schema": {"type": "string"}},
                    {"name": "owner", "in": "query", "required": True, "schema": {"type": "string"}},
                    {"name": "X-Not", "in": "header", "schema": {"type": "string"}},
                ],
            }
        }
    },
    "components": {
        "schemas": {
            "Thing": {
                "type": "object",
                "required": ["kind"],
                "additionalProperties": False,
                "properties": {
                    "kind": {"enum": ["a", "b"]},
                    "@context": {"type": "string", "nullable": True},
                    "madeBy": {"$ref": "#/components/schemas/Maker"},
                    "price": {"type": "number", "minimum": 0, "exclusiveMinimum": True},
                    "within": {"$ref": "#/components/schemas/Thing"},
                },
            },
            "Maker": {"type": "object", "nullable": True, "properties": {"name": {"type": "string"}}},
            "Anything": {"maxLength": 3, "maxItems": 1},
        }
    },
}
TYPES = Types(DOCUMENT)
THING = TYPES.named["Thing"]


@pytest.mark.parametrize(
    ("name", "python"),
    [("holderDid", "holder_did"), ("@context", "context"), ("from", "from_"), ("grant_type", "grant_type")],
)
def test_names_are_those_of_python(name: str, python: str) -> None:
    assert python_name(name) == python


def test_missing_and_null_differ() -> None:
    thing = convert({"kind": "a", "madeBy": None}, THING)
    assert (thing.context, thing.made_by) == (UNSET, None)
    assert (value_or(thing.context, "otherwise"), value_or(thing.made_by, "otherwise")) == ("otherwise", None)
    assert plain(thing) == {"kind": "a", "madeBy": None}
    assert encode(thing) == b'{"kind":"a","madeBy":null}'


@pytest.mark.parametrize(
    "value", [{}, {"kind": "c"}, {"kind": "a", "price": 0}, {"kind": "a", "more": 1}, {"kind": "a", "price": True}]
)
def test_limits_are_those_of_the_schema(value: object) -> None:
    with pytest.raises(msgspec.ValidationError):
        convert(value, THING)


@pytest.mark.parametrize(("value", "fits"), [("abc", True), ("abcd", False), ([1], True), ([1, 2], False), (7, True)])
def test_a_value_of_any_type_has_limits_too(value: object, *, fits: bool) -> None:
    made = TYPES.named["Anything"]
    if fits:
        assert convert(value, made) == value
    else:
        with pytest.raises(msgspec.ValidationError):
            convert(value, made)


def test_a_query_has_the_defaults_of_the_document() -> None:
    query = TYPES.named["ListThingsQuery"](owner="me")
    assert (query.limit, query.from_, query.owner) == (50, None, "me")
    with pytest.raises(TypeError):
        TYPES.named["ListThingsQuery"]()


def test_a_schema_within_itself_is_not_said() -> None:
    assert not TYPES.say_all({"$ref": "#/components/schemas/Thing"})
    assert TYPES.say_all({"$ref": "#/components/schemas/Maker"})
    assert not TYPES.say_all({"type": "string", "format": "date-time"})


def test_a_value_does_not_show_itself() -> None:
    assert repr(convert({"kind": "a", "@context": "secret"}, THING)) == "Thing(…)"
