"""The types of bodies and the document's schemas accept the same, and a typed body is the JSON value that was sent."""

import copy
from collections.abc import Iterator
from typing import Any

import pytest

from identity_codec.structs import plain
from identity_core import wire
from identity_core.api.contract import operations
from identity_core.api.decode import RequestBody
from identity_core.api.schemas import Schemas
from identity_core.errors import InvalidRequest
from tests.reference import DOCUMENT

SCHEMAS = Schemas(DOCUMENT)
BODIES = {each["operationId"]: each["requestBody"] for _, _, each in operations(DOCUMENT) if "requestBody" in each}
JUNK: tuple[Any, ...] = (
    *(
        None,
        True,
        0,
        -1,
        1.0,
        1.5,
        2**63,
        10**10,
        "",
        "null",
        "true",
        "1",
        "a\n",
        "x" * 3_000,
        "x" * 150_000,
        "é" * 129,
    ),
    *([], {}, ["a"], [1.0], {"a": 1}, [0] * 65, [0] * 9_000, {str(number): 0 for number in range(300)}),
)

Place = tuple[str | int, ...]


def places(value: Any, place: Place = ()) -> Iterator[Place]:
    yield place
    if isinstance(value, dict | list):
        for step in value if isinstance(value, dict) else range(len(value)):
            yield from places(value[step], (*place, step))


def value_at(value: Any, place: Place) -> Any:
    for step in place:
        value = value[step]
    return value


def mutations(example: Any) -> Iterator[Any]:
    """The example with one value replaced, lengthened, left out, or with a member that does not belong there."""
    yield example
    for place in places(example):
        if not place:
            yield from JUNK
        whole = copy.deepcopy(example)
        here = value_at(whole, place)
        if isinstance(here, dict):
            here["unknown"] = 1
            yield copy.deepcopy(whole)
            del here["unknown"]
        if place:
            above, step = value_at(whole, place[:-1]), place[-1]
            for value in (*JUNK, f"{here}\n", [here], [here] * 65):
                above[step] = value
                yield whole
            del above[step]
            yield whole


@pytest.mark.parametrize("operation_id", BODIES)
def test_types_and_schemas_accept_the_same_bodies(operation_id: str) -> None:
    (content,) = BODIES[operation_id]["content"].values()
    body, validator = RequestBody(BODIES[operation_id], SCHEMAS, cap=1), SCHEMAS.compile(content["schema"])
    accepted = refused = 0
    for example in content["examples"].values():
        for value in mutations(example["value"]):
            try:
                typed = body.typed(value)
            except InvalidRequest:
                assert not validator.is_valid(value), value
                refused += 1
            else:
                assert validator.is_valid(value), value
                assert type(typed) is wire.TYPES.named[content["schema"]["$ref"].rpartition("/")[2]]
                assert plain(typed) == value
                accepted += 1
    assert accepted
    assert refused


def test_schema_is_asked_first_where_type_cannot_say_all_of_it() -> None:
    """Which these are is not kept in a list, so that no new one is forgotten; that there are few of them keeps bodies cheap."""
    asked = {
        operation_id
        for operation_id, declared in BODIES.items()
        if not SCHEMAS.types.say_all(next(iter(declared["content"].values()))["schema"])
    }
    assert asked == {"createApiKey", "updateApiKey", "updateDid"}


def test_a_pattern_lets_no_newline_through() -> None:
    schema = {"type": "object", "properties": {"name": {"type": "string", "pattern": "^[a-z]+$"}}}
    schemas = Schemas({"components": {"schemas": {"Named": schema}}})
    body = RequestBody({"content": {"a/b": {"schema": {"$ref": "#/components/schemas/Named"}}}}, schemas, cap=1)
    assert body.typed({"name": "abc"}).name == "abc"
    with pytest.raises(InvalidRequest):
        body.typed({"name": "abc\n"})
