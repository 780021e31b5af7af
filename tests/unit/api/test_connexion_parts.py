"""What comes with Connexion, and what does not."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from identity_core.api import connexion_parts
from identity_core.api.app import outline
from identity_core.api.contract import load_document, operations
from identity_core.api.dispatch import HandlerResolver
from identity_core.api.request import Answer, Request
from tests.toy_document import DOCUMENT, build_toy

API = Path(connexion_parts.__file__).parent


def run_program(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_a_server_imports_no_client_and_no_test_client() -> None:
    unused = {"httpx", "httpx2", "requests", "rich", "starlette.testclient", "urllib3"}
    program = f"import sys, identity_core.cli.serving, identity_core.bootstrap.app; print({unused} & {{*sys.modules}})"
    assert run_program(program) == "set()"


def test_parts_outside_the_server_are_original() -> None:
    program = """
import warnings
import identity_core.api.connexion_parts
warnings.simplefilter("ignore")
import connexion, httpx, requests
from connexion import json_schema, security
app = connexion.AsyncApp("beside")
assert json_schema.requests is not requests
assert type(json_schema.requests.Request("GET", "http://a.example")) is requests.Request
assert isinstance(security.httpx.AsyncClient(), httpx.AsyncClient)
print(app.test_client().get("/nowhere").status_code)
"""
    assert run_program(program) == "404"


def test_outline_has_the_operations_of_the_document() -> None:
    document = dict(load_document().value)
    handlers = {each["operationId"]: _handler for _, _, each in operations(document)}

    def list_operations(loaded: dict[str, Any]) -> list[tuple[str, str, str, object]]:
        specification = connexion_parts.Specification.load(loaded)
        known = (
            specification.operation_cls.from_spec(
                specification, path=path, method=method, resolver=HandlerResolver(handlers)
            )
            for path, method, _ in operations(document)
        )
        return [(each.operation_id, each.method, each.path, each.function) for each in known]

    ours = list_operations(outline(document))
    assert ours == list_operations(document)
    assert {operation_id for operation_id, *_ in ours} == handlers.keys()


async def _handler(request: Request) -> Answer:
    raise NotImplementedError


def test_build_app_checks_the_whole_document_on_request() -> None:
    broken = {key: value for key, value in DOCUMENT.items() if key != "info"} | {"info": {"title": "no version"}}
    with pytest.raises(Exception, match="version"):
        build_toy(document=broken, validate=True)


def test_no_private_part_of_connexion_is_used() -> None:
    """Documented are ``middlewares``, ``Resolver``, ``SpecMiddleware`` and the ASGI call; a private name may change in any release."""
    private = re.compile(r"(?:stack|spec|specification|connexion\w*|json_schema)\._[a-z]\w+|\bdeepcopy|resolve_refs")
    found = {path.name: private.findall(path.read_text()) for path in API.glob("*.py")}
    assert {name: names for name, names in found.items() if names} == {}
