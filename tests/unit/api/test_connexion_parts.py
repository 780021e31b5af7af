"""What comes with Connexion, and what does not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from identity_core.api import connexion_parts
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
    assert ours.raw == stock.raw
    # A schema that names itself is a ring, which only repr goes around.
    assert repr(ours.spec) == repr(stock.spec)


def test_only_the_own_document_is_taken_as_it_is() -> None:
    broken = {"openapi": "3.0.3", "info": {"title": "no version"}, "paths": {}}
    with connexion_parts.as_it_is():
        connexion_parts.Specification.load(dict(broken))
    with pytest.raises(Exception, match="version"):
        connexion_parts.Specification.load(dict(broken))
