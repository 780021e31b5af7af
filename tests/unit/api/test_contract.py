import copy
from typing import Any

import pytest

from identity_codec.structs import python_name
from identity_core.api.contract import ContractError, bind, dereference, operations
from identity_core.api.request import Answer, Request
from tests.toy_document import DOCUMENT, SCHEMES, ToyHandlers


@pytest.mark.parametrize(
    ("operation_id", "name"),
    [
        ("createDid", "create_did"),
        ("getDidAuthChallenge", "get_did_auth_challenge"),
        ("rotateApiKey", "rotate_api_key"),
        ("health", "health"),
    ],
)
def test_names(operation_id: str, name: str) -> None:
    assert python_name(operation_id) == name


def test_the_toy_fits() -> None:
    bound = bind(DOCUMENT, [ToyHandlers()], SCHEMES)
    assert set(bound) == {operation["operationId"] for _, _, operation in operations(DOCUMENT)}


def broken(change: str) -> tuple[dict[str, Any], list[object], dict[str, str]]:
    document, handlers, schemes = copy.deepcopy(DOCUMENT), [ToyHandlers()], dict(SCHEMES)
    resolve = document["paths"]["/dids/{did}"]["get"]
    if change == "missing handler":
        resolve["operationId"] = "lookUpDid"
    elif change == "idle handler":
        del document["paths"]["/health"]
    elif change == "twice":
        resolve["operationId"] = "deactivateDid"
    elif change == "nameless":
        del resolve["operationId"]
    elif change == "two handlers":
        handlers.append(ToyHandlers())
    elif change == "unchecked scheme":
        del schemes["DidAuth"]
    elif change == "undeclared scheme":
        del document["components"]["securitySchemes"]["DidAuth"]
    elif change == "both schemes":
        resolve["security"] = [{"DidAuth": [], "ApiKeyAuth": []}]
    elif change == "unread header":
        resolve["parameters"].append({"name": "X-Custom", "in": "header", "schema": {"type": "string"}})
    elif change == "cookie":
        resolve["parameters"].append({"name": "c", "in": "cookie", "schema": {"type": "string"}})
    elif change == "path parameter":
        resolve["parameters"].pop(0)
    elif change == "shared parameters":
        document["paths"]["/dids/{did}"]["parameters"] = []
    return document, list(handlers), schemes


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ("missing handler", "GET /dids/{did}: no handler is called look_up_did"),
        ("idle handler", "no operation of the document belongs to the handler get_health"),
        ("twice", "the operationId deactivateDid is taken"),
        ("nameless", "GET /dids/{did} has no operationId"),
        ("two handlers", "two handlers are called"),
        ("unchecked scheme", "no code checks the security scheme DidAuth"),
        ("undeclared scheme", "no code checks the security scheme DidAuth"),
        ("both schemes", "names one scheme"),
        ("unread header", "no handler reads the header X-Custom"),
        ("cookie", "no handler reads cookies"),
        ("path parameter", "the path and its parameters differ"),
        ("shared parameters", "parameters belong to the operation"),
    ],
)
def test_mismatched_contract_stops_start_in_one_line(change: str, line: str) -> None:
    document, handlers, schemes = broken(change)
    with pytest.raises(ContractError) as refused:
        bind(document, handlers, schemes)
    assert line in str(refused.value)
    assert "\n" not in str(refused.value)


def test_only_public_coroutine_methods_are_handlers() -> None:
    class More(ToyHandlers):
        def helper(self) -> None: ...

        async def _private(self, request: Request) -> Answer:
            return Answer(200)

    assert "helper" not in bind(DOCUMENT, [More()], SCHEMES)


def test_references() -> None:
    assert dereference({"a": {"b/c": {"$ref": "#/x"}}, "x": 1}, {"$ref": "#/a/b~1c"}) == 1
    assert dereference({}, {"a": 1}) == {"a": 1}
