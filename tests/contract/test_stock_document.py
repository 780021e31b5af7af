"""The kernel's own document on Connexion's stock application: each example is read and answered as by ours."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, urlencode

import orjson
import pytest

from identity_codec.structs import plain, python_name
from identity_core.api.contract import dereference, load_document, operations
from identity_core.api.request import Answer, Request
from identity_core.api.security import DOCUMENT_SCHEMES
from tests.contract.stock import build_stock_app
from tests.toy_document import KEY, ToyGate, ask, build_toy, no_lifespan

DOCUMENT = load_document()
VALUE = DOCUMENT.value
JSON = ("content-type", "application/json")
AUTHENTIC = ("x-api-key", KEY)
SAMPLES = {
    "bodyHash": "A" * 43,
    "did": "did:ids:abc",
    "date-time": "2030-01-01T00:00:00Z",
    "integer": 1,
    "boolean": "true",
}


def find(part: Any) -> Any:
    return dereference(VALUE, part)


def parameters(declared: Mapping[str, Any], place: str) -> dict[str, Mapping[str, Any]]:
    """Return the schema of each parameter of a place, by name."""
    found = map(find, declared.get("parameters", ()))
    return {each["name"]: find(each["schema"]) for each in found if each["in"] == place}


def value_of(name: str, schema: Mapping[str, Any]) -> Any:
    """Return a valid value of a parameter."""
    if "enum" in schema:
        return schema["enum"][0]
    kinds = (name, schema.get("format"), schema["type"])
    return next(
        (SAMPLES[kind] for kind in kinds if kind in SAMPLES), "/abc" if "/" in schema.get("pattern", "") else "abc"
    )


def answering(operation_id: str, declared: Mapping[str, Any]) -> Any:
    """Return a handler that answers an example of the document with what it has read of the request."""
    status, response = next((code, find(each)) for code, each in declared["responses"].items() if code[0] == "2")
    media, content = next(iter(response.get("content", {"application/json": {}}).items()))
    example = next((find(each)["value"] for each in content.get("examples", {}).values()), None)
    wanted = parameters(declared, "query")

    async def handler(self: object, request: Request) -> Answer:
        query = request.query
        read = query.get if isinstance(query, Mapping) else lambda name: getattr(query, name, None)
        read_query = {name: read(python_name(name)) for name in wanted}
        for name, schema in wanted.items():
            if read_query[name] is None:
                read_query[name] = schema.get("default")
        body = None if request.body is None else plain(request.body)
        seen = {"path": dict(request.path), "query": read_query, "body": body}
        data = orjson.dumps({"operation": operation_id, "example": example, "seen": seen})
        return Answer(int(status), data, media, [("cache-control", "no-store")])

    return handler


class Applications:
    """Ours and the stock one, over the same document, handlers and gate."""

    def __init__(self) -> None:
        made = {python_name(one["operationId"]): answering(one["operationId"], one) for *_, one in operations(VALUE)}
        handlers = type("AnsweringHandlers", (), made)()
        schemes = DOCUMENT_SCHEMES
        self.ours = build_toy(handlers, document=VALUE, schemes=schemes, lifespan=no_lifespan, validate=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self.stock = build_stock_app(
                DOCUMENT, [handlers], gate=ToyGate(), schemes=schemes, lifespan=no_lifespan, types=("apiKey", "http")
            )

    def ask(self, method: str, target: str, headers: list[tuple[str, str]], body: bytes) -> tuple[Any, Any]:
        return tuple(ask(each, method, target, headers=headers, body=body) for each in (self.ours, self.stock))


@pytest.fixture(scope="module")
def applications() -> Applications:
    return Applications()


def requests() -> Iterator[Any]:
    """Yield an operation with each example of its body, without a query and with all parameters."""
    for path, method, declared in operations(VALUE):
        at = "/api/v1" + path
        for name, schema in parameters(declared, "path").items():
            at = at.replace(f"{{{name}}}", quote(str(value_of(name, schema)), safe=""))
        query = urlencode({name: value_of(name, schema) for name, schema in parameters(declared, "query").items()})
        examples: dict[str, Any] = {"": None}
        if "requestBody" in declared:
            content = find(declared["requestBody"])["content"]["application/json"]
            examples = {name: find(each)["value"] for name, each in content["examples"].items()}
        is_bare = all(
            not find(each).get("required") or find(each)["in"] != "query" for each in declared.get("parameters", ())
        )
        for target in [*[at] * is_bare, *[f"{at}?{query}"] * bool(query)]:
            for name, example in examples.items():
                body = b"" if example is None else orjson.dumps(example)
                label = "-".join(filter(None, (declared["operationId"], name, "query" * ("?" in target))))
                yield pytest.param(method.upper(), target, body, declared, id=label)


@pytest.mark.parametrize(("method", "target", "body", "declared"), [*requests()])
def test_example_is_answered_alike(
    applications: Applications, method: str, target: str, body: bytes, declared: Mapping[str, Any]
) -> None:
    headers = [AUTHENTIC, *([JSON] if body else [])]
    ours, theirs = applications.ask(method, target, headers, body)
    assert ours.status == theirs.status == int(next(code for code in declared["responses"] if code[0] == "2"))
    assert ours.json == theirs.json
    assert ours.json["operation"] == declared["operationId"]
    for name in ("content-type", "cache-control"):
        assert ours.headers[name].partition(";")[0] == theirs.headers[name].partition(";")[0]


@pytest.mark.parametrize(("method", "target", "body", "declared"), [*requests()])
def test_refusals_have_the_same_status(
    applications: Applications, method: str, target: str, body: bytes, declared: Mapping[str, Any]
) -> None:
    content = [JSON] if body else []
    unknown = f"{target}{'&' if '?' in target else '?'}unknown=1"
    tried = {400: [(unknown, [AUTHENTIC, *content], body)]}
    if declared.get("security") and {} not in declared["security"]:
        tried[401] = [(target, content, body)]
    if body:
        tried[400] += [(target, [AUTHENTIC, JSON], b"[]"), (target, [AUTHENTIC, JSON], b"{")]
        tried[415] = [(target, [AUTHENTIC, ("content-type", "text/plain")], body)]
    for status, each in tried.items():
        for at, headers, data in each:
            ours, theirs = applications.ask(method, at, headers, data)
            assert (ours.status, theirs.status) == (status, status), (at, data)
