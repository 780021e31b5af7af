"""openapi-python-client understands the whole document: every operation, every model, every example both ways."""

import compileall
import importlib
import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from identity_codec.structs import python_name
from identity_core.api.contract import dereference, operations
from openapi import clients
from openapi.clients import PACKAGE
from tests.reference import DOCUMENT


def json_examples(kind: str) -> Iterator[Any]:
    """(operationId, status, schema name, example name, value) of every JSON example with a named schema."""
    for _, _, operation in operations(DOCUMENT):
        bodies = {"request": operation["requestBody"]} if "requestBody" in operation else {}
        if kind == "answer":
            bodies = operation["responses"]
        for status, reference in bodies.items():
            content = dereference(DOCUMENT, reference).get("content", {}).get("application/json")
            # The client reads the first form that it knows, and asks for no other.
            if content is None or (operation["operationId"].startswith("resolveIdentifier") and status == "200"):
                continue
            schema = content["schema"]["$ref"].rpartition("/")[2]
            for name, example in content["examples"].items():
                value = dereference(DOCUMENT, example)["value"]
                case = f"{operation['operationId']}-{status}-{name}"
                yield pytest.param(operation, status, schema, value, id=case)


def model(name: str) -> Any:
    return getattr(importlib.import_module(f"{PACKAGE}.models"), name)


def json_of_model(parsed: Any) -> Any:
    """The JSON value of a model. Times are parsed; they come back with +00:00 for Z, which is the same time."""
    return json.loads(json.dumps(parsed.to_dict()).replace("+00:00", "Z"))


def function(operation: dict[str, Any]) -> Any:
    (tag,) = operation["tags"]
    return importlib.import_module(f"{PACKAGE}.api.{tag}.{python_name(operation['operationId'])}")


@pytest.fixture(autouse=True)
def built(python_client: Path) -> None:
    """Every test needs it."""


def test_it_compiles(python_client: Path) -> None:
    assert compileall.compile_dir(python_client, quiet=1)


def test_it_is_the_same_octets_each_time(python_client: Path, tmp_path: Path) -> None:
    """Another process, another seed of hashes, another folder."""

    def sources(folder: Path) -> dict[str, bytes]:
        return {
            str(file.relative_to(folder)): file.read_bytes()
            for file in folder.rglob("*")
            if file.suffix in (".py", ".md", ".toml")
        }

    assert sources(clients.build_python_client(tmp_path)) == sources(python_client)


@pytest.mark.parametrize(
    "operation", [each for _, _, each in operations(DOCUMENT)], ids=lambda each: each["operationId"]
)
def test_every_operation_is_a_module_of_its_tag(operation: dict[str, Any]) -> None:
    module = function(operation)
    assert inspect.iscoroutinefunction(module.asyncio_detailed)
    assert callable(module.sync_detailed)


def test_there_is_nothing_else(python_client: Path) -> None:
    modules = {path.stem for path in (python_client / PACKAGE / "api").glob("*/*.py")} - {"__init__"}
    assert modules == {python_name(operation["operationId"]) for _, _, operation in operations(DOCUMENT)}


@pytest.mark.parametrize(("operation", "status", "schema", "value"), list(json_examples("request")))
def test_it_says_every_request(operation: dict[str, Any], status: str, schema: str, value: Any) -> None:
    assert json_of_model(model(schema).from_dict(value)) == value


@pytest.mark.parametrize(("operation", "status", "schema", "value"), list(json_examples("answer")))
def test_it_understands_every_answer(operation: dict[str, Any], status: str, schema: str, value: Any) -> None:
    """The generated function, over a transport that gives the example."""
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(int(status), json=value)

    client = importlib.import_module(PACKAGE).Client(base_url="https://identity.example/api/v1")
    transport = httpx.MockTransport(answer)
    client.set_httpx_client(httpx.Client(base_url="https://identity.example/api/v1", transport=transport))
    parsed = function(operation).sync_detailed(client=client, **_arguments(operation)).parsed
    assert len(sent) == 1
    if isinstance(value, list):
        assert parsed == value
        return
    assert type(parsed).__name__ == schema
    assert json_of_model(parsed) == value


def _arguments(operation: dict[str, Any]) -> dict[str, Any]:
    """What the function insists on."""
    arguments: dict[str, Any] = {}
    for reference in operation.get("parameters", []):
        parameter = dereference(DOCUMENT, reference)
        if parameter.get("required"):
            arguments[python_name(parameter["name"])] = "did:web:host%3A3000"
    if "requestBody" in operation:
        content = operation["requestBody"]["content"]["application/json"]
        example = next(iter(content["examples"].values()))["value"]
        arguments["body"] = model(content["schema"]["$ref"].rpartition("/")[2]).from_dict(example)
    return arguments


def test_it_encodes_a_did_so_that_no_escape_is_lost() -> None:
    paths: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        paths.append(request.url.raw_path)
        return httpx.Response(404, json={"error": {"code": "DID_NOT_FOUND"}})

    client = importlib.import_module(PACKAGE).Client(base_url="https://identity.example/api/v1")
    transport = httpx.MockTransport(answer)
    client.set_httpx_client(httpx.Client(base_url="https://identity.example/api/v1", transport=transport))
    module = importlib.import_module(f"{PACKAGE}.api.dids.resolve_did")
    module.sync_detailed("did:web:host%3A3000", client=client)
    assert paths == [b"/api/v1/dids/did%3Aweb%3Ahost%253A3000"]


def test_it_understands_a_resolution_result() -> None:
    forms = DOCUMENT["paths"]["/identifiers/{identifier}"]["get"]["responses"]["200"]["content"]
    value = forms["application/did-resolution"]["examples"]["keyInGrace"]["value"]
    client = importlib.import_module(PACKAGE).Client(base_url="https://identity.example/api/v1")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, json=value))
    client.set_httpx_client(httpx.Client(base_url="https://identity.example/api/v1", transport=transport))
    module = importlib.import_module(f"{PACKAGE}.api.identifiers.resolve_identifier")
    assert json_of_model(module.sync_detailed("did:ids:x", client=client).parsed) == value


def test_it_hands_over_the_log_as_text() -> None:
    client = importlib.import_module(PACKAGE).Client(base_url="https://identity.example/api/v1")
    transport = httpx.MockTransport(lambda _: httpx.Response(200, text="{}\n", headers={"content-type": "text/jsonl"}))
    client.set_httpx_client(httpx.Client(base_url="https://identity.example/api/v1", transport=transport))
    module = importlib.import_module(f"{PACKAGE}.api.dids.get_did_log")
    assert module.sync_detailed("did:ids:x", client=client).parsed == "{}\n"
