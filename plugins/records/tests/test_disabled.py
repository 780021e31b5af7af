"""A service without the extension: its paths are unknown, and the rows are written all the same."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest
from identity_commands.local_server import LocalServer

from tests.attack.stranger import GENEROUS, PREFIX, Wire
from tests.servers import local_server, run

PATHS = ("/audit", "/dashboard/timeline", "/verifications/history", "/verifications/stats")
# The pages show the records.
OFF = GENEROUS | {"IDENTITY_EXTENSIONS_ENABLED": "", "IDENTITY_EXTENSIONS_DISABLED": "records,ui"}


@pytest.fixture(scope="module")
def running() -> Iterator[LocalServer]:
    with local_server(environment=OFF) as server:
        yield server


@pytest.fixture(scope="module")
def wire(running: LocalServer) -> Iterator[Wire]:
    wire = Wire(running.url)
    yield wire
    wire.close()


@pytest.mark.parametrize("path", PATHS)
def test_path_is_unknown_and_names_the_remedy(wire: Wire, running: LocalServer, path: str) -> None:
    answer = wire.call("GET", f"{PREFIX}{path}", None, {"X-API-Key": running.api_key})
    assert (answer.status, answer.json["error"]["code"]) == (404, "NOT_FOUND")
    assert answer.json["error"]["details"]["extension"] == "records"


def test_document_has_no_operation_of_records(wire: Wire) -> None:
    document = wire.call("GET", "/openapi.json").json
    assert {f"{PREFIX}{path}" for path in PATHS}.isdisjoint(document["paths"])
    assert set(PATHS).isdisjoint(document["paths"])
    assert "createDid" in str(document["paths"])
    assert {"Timeline", "AuditLog", "VerificationHistory"}.isdisjoint(document["components"]["schemas"])


def test_change_is_in_the_audit_log_all_the_same(wire: Wire, running: LocalServer) -> None:
    assert wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, {"X-API-Key": running.api_key}).status == 201
    database = running.data_dir / "identity.sqlite"
    with contextlib.closing(sqlite3.connect(database)) as opened:
        lines = [bytes(row[0]) for row in opened.execute("SELECT line FROM audit_lines")]
    assert sum(b'"operation":"createDid"' in line for line in lines) == 1


def test_pages_need_the_records(tmp_path: Path) -> None:
    environment = {**os.environ, "IDENTITY_EXTENSIONS_DISABLED": "records", "IDENTITY_DATA_DIR": str(tmp_path)}
    done = run("serve", "--port", "0", environment=environment)
    assert done.returncode != 0
    assert "The extension ui requires the extension records, which is off." in done.stderr
