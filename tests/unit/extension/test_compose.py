"""The document of the kernel and its parts, in any order and any choice."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from identity_core.api.contract import dereference, load_document
from identity_core.extension.compose import CompositionError, compose
from openapi import build
from tests.reference import PARTS

KERNEL = load_document().value
LOADED = {name: orjson.loads(part_bytes) for name, part_bytes in PARTS.items()}


def references(part: Any) -> Iterator[str]:
    if isinstance(part, dict):
        if isinstance(part.get("$ref"), str):
            yield part["$ref"]
        part = list(part.values())
    for inner in part if isinstance(part, list) else ():
        yield from references(inner)


@pytest.mark.parametrize("seed", range(20))
def test_any_order_gives_the_reference(seed: int) -> None:
    names = random.Random(seed).sample(sorted(LOADED), len(LOADED))
    composed = compose(KERNEL, {name: LOADED[name] for name in names})
    assert build.encode(composed) == build.REFERENCE.read_bytes()


@pytest.mark.parametrize("chosen", [(), *((name,) for name in LOADED), tuple(LOADED)])
def test_every_choice_is_closed(chosen: tuple[str, ...]) -> None:
    composed = compose(KERNEL, {name: LOADED[name] for name in chosen})
    for reference in set(references(composed)):
        assert dereference(composed, {"$ref": reference}) is not None
    used = {tag for _, operation in build.operations(composed) for tag in operation["tags"]}
    assert used == {tag["name"] for tag in composed["tags"]}


def test_parts_change_nothing_of_the_kernel() -> None:
    composed, before = compose(KERNEL, LOADED), load_document().value
    assert before == KERNEL
    for path, item in KERNEL["paths"].items():
        assert composed["paths"][path].items() >= item.items()
    for kind, members in KERNEL["components"].items():
        assert composed["components"][kind].items() >= members.items()


def operation(name: str, **more: Any) -> dict[str, Any]:
    return {"operationId": name, "responses": {}, **more}


TOY = {"paths": {"/a": {"get": operation("getA", **{"x-aliases": ["/alias"]})}}, "components": {"schemas": {"A": {}}}}


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ({"paths": {"/b": {"get": operation("getA")}}}, "getA of b and getA of the kernel have the same"),
        ({"paths": {"/a": {"get": operation("getB")}}}, "getB of b and getA of the kernel have the same"),
        ({"paths": {"/alias": {"get": operation("getB")}}}, "getB of b and getA of the kernel have the same"),
        ({"paths": {"/b": {"get": operation("getB", **{"x-aliases": ["/a"]})}}}, "getB of b and getA of the kernel"),
        ({"paths": {}, "components": {"schemas": {"A": {"type": "string"}}}}, "A: the schemas of b differ"),
    ],
)
def test_misfitting_part_is_refused(part: dict[str, Any], reason: str) -> None:
    with pytest.raises(CompositionError, match=reason):
        compose(TOY, {"b": part})


def test_path_gets_a_method_and_equal_components_are_shared() -> None:
    part = {"paths": {"/a": {"post": operation("postA")}}, "components": {"schemas": {"A": {}, "B": {}}}}
    composed = compose(TOY, {"b": part})
    assert composed["paths"]["/a"].keys() == {"get", "post"}
    assert composed["components"]["schemas"] == {"A": {}, "B": {}}
    assert TOY["paths"]["/a"].keys() == {"get"}
