"""A service without the extension: its paths are unknown, and extensions that need it cannot be on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from identity_commands.local_server import LocalServer

from tests.attack.stranger import GENEROUS, PREFIX, Wire
from tests.servers import local_server, run

PATHS = (
    ("POST", "/zkp/proofs/verify"),
    ("POST", "/zkp/proofs/x/verify"),
    ("GET", "/zkp/proofs/x"),
    ("POST", "/zkp/proofs/x/revoke"),
    ("POST", "/zkp/delegated-proofs/check"),
    ("POST", "/challenges"),
)
OFF = GENEROUS | {"IDENTITY_EXTENSIONS_ENABLED": "", "IDENTITY_EXTENSIONS_DISABLED": "verification,ui"}


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with local_server(environment=OFF) as server:
        yield server


@pytest.fixture(scope="module")
def wire(running: LocalServer) -> Iterator[Wire]:
    wire = Wire(running.url)
    yield wire
    wire.close()


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_path_is_unknown_and_names_the_remedy(wire: Wire, running: LocalServer, method: str, path: str) -> None:
    body = {} if method == "POST" else None
    answer = wire.call(method, f"{PREFIX}{path}", body, {"X-API-Key": running.api_key})
    assert (answer.status, answer.json["error"]["code"]) == (404, "NOT_FOUND")
    assert answer.json["error"]["details"]["extension"] == "verification"


def test_document_has_no_operation_that_verifies(wire: Wire) -> None:
    document = wire.call("GET", "/openapi.json").json
    assert "generateDelegatedProof" in str(document["paths"])
    assert {"VerificationResult", "ProofRecord", "CredentialVerdict"}.isdisjoint(document["components"]["schemas"])


def test_service_is_ready_and_makes_dids(wire: Wire, running: LocalServer) -> None:
    key = {"X-API-Key": running.api_key}
    assert wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, key).status == 201
    assert wire.call("GET", f"{PREFIX}/verifications/history", None, key).status == 200


def test_pages_need_the_verification(tmp_path: Path) -> None:
    environment = {**os.environ, "IDENTITY_EXTENSIONS_DISABLED": "verification", "IDENTITY_DATA_DIR": str(tmp_path)}
    done = run("serve", "--port", "0", environment=environment)
    assert done.returncode != 0
    assert "The extension ui requires the extension verification, which is off." in done.stderr
