"""Rules that the tools which read the document need: generators, linters and validators of other languages."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from identity_core.api.contract import dereference
from identity_core.api.schemas import Schemas
from openapi import build, client_rules
from tests.reference import DOCUMENT

Json = dict[str, Any]
# Classes of Python clients shadow these names in their annotations.
BUILTINS = {"list", "dict", "set", "object", "bool", "str", "int", "float", "bytes", "tuple"}
# A backslash escape that PCRE, RE2, Ruby, Python and browsers read alike. Ruby refuses ``\x80`` and above in UTF-8.
COMMON_ESCAPE = re.compile(r"\\(?:x[0-7][0-9a-f]|[\\./?+*()\[\]{}|^$-]|[dDwWsS])")


def parts(part: Any, where: str = "") -> Iterator[tuple[str, Json]]:
    """Yield every object of the document that generators read but the examples, with its place."""
    if isinstance(part, dict):
        yield where, part
        for name, value in part.items():
            if name not in ("example", "examples", "x-checked-now"):
                yield from parts(value, f"{where}/{name}")
    elif isinstance(part, list):
        for number, value in enumerate(part):
            yield from parts(value, f"{where}/{number}")


def documents() -> list[bytes]:
    return [build.BUNDLE.read_bytes(), build.REFERENCE.read_bytes()]


@pytest.mark.parametrize("document", documents(), ids=["kernel", "reference"])
def test_document_is_ascii_and_yaml_1_1(document: bytes) -> None:
    assert document.isascii()
    # libyaml reads the same grammar as the reader in Python, which takes half a minute for the whole.
    assert yaml.load(document, Loader=yaml.CSafeLoader) == json.loads(document)


@pytest.mark.parametrize("document", documents(), ids=["kernel", "reference"])
def test_every_schema_is_used(document: bytes) -> None:
    """Redocly reports the others. Those that only extensions use are in the parts of the extensions."""
    whole = json.loads(document)
    named = set(re.findall(rb'"#/components/schemas/(\w+)"', document))
    assert set(whole["components"]["schemas"]) - {name.decode() for name in named} == set()


def test_patterns_are_of_the_common_subset() -> None:
    patterns = {str(part["pattern"]) for _, part in parts(DOCUMENT) if isinstance(part.get("pattern"), str)}
    assert len(patterns) > 8
    for pattern in patterns:
        re.compile(pattern)
        # A generator writes the characters into a source file, where a byte order mark or a line separator is an error.
        assert pattern.isascii(), pattern
        assert "(?" not in pattern, pattern
        assert "\\" not in COMMON_ESCAPE.sub("", pattern), pattern


def test_service_checks_what_the_pattern_leaves_out() -> None:
    name = Schemas(DOCUMENT).compile({"$ref": "#/components/schemas/ApiKeyName"})
    assert name.is_valid("operator of the shop")
    for character in "\x1f\x9f\xad\u061c\u200b\u2028\u202e\ufeff\ufffb":
        assert not name.is_valid(f"operator{character}")


def test_texts_end_no_comment() -> None:
    """A generator writes descriptions into comments of its language."""
    found = [
        f"{where}/{name}"
        for where, part in parts(DOCUMENT)
        for name in ("description", "summary", "title")
        for end in ("*/", "/*", '"""', "-->", "\\u")
        if isinstance(part.get(name), str) and end in part[name]
    ]
    assert found == []


def test_inline_enumerations_and_objects_have_titles() -> None:
    titles = Counter[str]()
    for where, part in parts(DOCUMENT):
        is_named = where.startswith("/components/schemas/") and where.count("/") == 3
        is_schema = isinstance(part.get("enum"), list) or (part.get("type") == "object" and "in" not in part)
        if is_schema and not is_named and not where.endswith("/properties"):
            titles[part.get("title", f"none: {where}")] += 1
    assert len(titles) > 20
    assert [title for title, count in titles.items() if count > 1 or not title.isidentifier()] == []
    assert titles.keys() & DOCUMENT["components"]["schemas"].keys() == set()


def test_no_property_is_named_as_a_builtin_type() -> None:
    found = {
        f"{where}.{name}"
        for where, part in parts(DOCUMENT)
        if isinstance(part.get("properties"), dict) and not where.endswith("/properties")
        for name in part["properties"].keys() & BUILTINS
    }
    assert found == set()


def test_each_path_parameter_has_an_example_that_fits() -> None:
    seen = set()
    for item in DOCUMENT["paths"].values():
        for operation in item.values():
            for parameter in (dereference(DOCUMENT, each) for each in operation.get("parameters", ())):
                if parameter["in"] == "path":
                    example, schema = parameter["example"], parameter["schema"]
                    assert re.search(schema.get("pattern", ""), example), parameter
                    assert len(example) <= schema.get("maxLength", 2048), parameter
                    seen.add(parameter["name"])
    assert seen == set(client_rules.PATH_EXAMPLES)


def test_path_parameter_without_an_example_is_refused() -> None:
    parameter = {"name": "planet", "in": "path", "schema": {"type": "string"}}
    document = {
        "paths": {"/{planet}": {"get": {"operationId": "getPlanet", "parameters": [parameter]}}},
        "components": {"parameters": {}, "schemas": {}},
    }
    with pytest.raises(client_rules.MissingExampleError, match="planet"):
        client_rules.adapt(document)


def test_json_is_listed_first_where_it_is_answered() -> None:
    """Generated clients send and read the first media type."""
    for path, item in DOCUMENT["paths"].items():
        for operation in item.values():
            for response in operation["responses"].values():
                content = list(dereference(DOCUMENT, response).get("content", {}))
                assert "application/json" not in content[1:], path


def test_the_description_of_the_whole_is_two_sentences() -> None:
    """Each generated file repeats it."""
    description = DOCUMENT["info"]["description"].strip()
    assert len(description) < 300
    assert description.count(". ") == 1
    assert DOCUMENT["info"]["contact"]["name"]
