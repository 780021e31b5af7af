"""What comes with Connexion, and what does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from identity_core.api import connexion_parts
from identity_core.api.contract import load_document, operations
from identity_core.api.dispatch import HandlerResolver
from identity_core.api.request import Answer, Request
from tests.toy import DOCUMENT


def told(program: str) -> str:
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip()


def test_a_server_imports_no_client_and_no_test_client() -> None:
    unused = {"httpx", "httpx2", "requests", "rich", "starlette.testclient", "urllib3"}
    program = f"import sys, identity_core.cli.serving, identity_core.bootstrap.app; print({unused} & {{*sys.modules}})"
    assert told(program) == "set()"


def test_who_uses_them_beside_a_server_has_the_real_ones() -> None:
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
    assert told(program) == "404"


def test_a_document_is_loaded_as_connexion_does() -> None:
    stock = connexion_parts.Specification.load(dict(DOCUMENT))
    with connexion_parts.as_it_is():
        ours = connexion_parts.Specification.load(dict(DOCUMENT))
    assert ours.raw == stock.raw == ours.spec


def test_the_operations_of_the_own_document_are_those_that_connexion_finds() -> None:
    document = dict(load_document().value)
    handlers = {each["operationId"]: _handler for _, _, each in operations(document)}

    def found() -> list[tuple[str, str, str, object]]:
        specification = connexion_parts.Specification.load(document)
        known = (
            specification.operation_cls.from_spec(
                specification, path=path, method=method, resolver=HandlerResolver(handlers)
            )
            for path, method, _ in operations(document)
        )
        return [(each.operation_id, each.method, each.path, each.function) for each in known]

    with connexion_parts.as_it_is():
        ours = found()
    assert ours == found()
    assert {operation_id for operation_id, *_ in ours} == handlers.keys()


async def _handler(request: Request) -> Answer:
    raise NotImplementedError


def test_only_the_own_document_is_taken_as_it_is() -> None:
    broken = {"openapi": "3.0.3", "info": {"title": "no version"}, "paths": {}}
    with connexion_parts.as_it_is():
        connexion_parts.Specification.load(dict(broken))
    with pytest.raises(Exception, match="version"):
        connexion_parts.Specification.load(dict(broken))
