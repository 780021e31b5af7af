"""A service without the extension: its paths are unknown, no row is written, and the service reports that."""

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
TABLES = ("audit_lines", "timeline")
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


def test_change_is_not_recorded_and_readiness_says_so(wire: Wire, running: LocalServer) -> None:
    key = {"X-API-Key": running.api_key}
    assert wire.call("POST", f"{PREFIX}/dids", {"method": "ids"}, key).status == 201
    with contextlib.closing(sqlite3.connect(running.data_dir / "identity.sqlite")) as opened:
        assert [opened.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES] == [0, 0]
    ready = wire.call("GET", f"{PREFIX}/ready", None, key)
    assert (ready.status, ready.json["dependencies"]["audit"]) == (200, "degraded")
    assert "no extension that is on writes an audit log" in running.log.read_text()


def test_audit_log_goes_on_when_it_is_enabled(tmp_path: Path) -> None:
    """The lines of before stay, the next one is chained to them, and what was done meanwhile is in none."""

    def lines(disabled: str) -> tuple[list[str], str]:
        environment = {**os.environ, "IDENTITY_EXTENSIONS_DISABLED": disabled, "IDENTITY_DATA_DIR": str(tmp_path)}
        done = run(
            "keys", "create", "--scopes", "dids:list", "--name", f"without-{len(disabled)}", environment=environment
        )
        assert done.returncode == 0, done.stderr
        with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite")) as opened:
            found = [bytes(row[0]) for row in opened.execute("SELECT line FROM audit_lines ORDER BY sequence")]
        return [one.decode() for one in found], done.stderr

    before, _ = lines("")
    meanwhile, warned = lines("records,ui")
    after, quiet = lines("")
    assert (len(before), meanwhile, after[:1]) == (1, before, before)
    assert len(after) == 2
    assert "no extension that is on writes an audit log" in warned
    assert "audit log" not in quiet
    checked = run("audit", "verify", "--data-dir", str(tmp_path), environment={**os.environ})
    assert checked.returncode == 0, checked.stderr


def test_pages_need_the_records(tmp_path: Path) -> None:
    environment = {**os.environ, "IDENTITY_EXTENSIONS_DISABLED": "records", "IDENTITY_DATA_DIR": str(tmp_path)}
    done = run("serve", "--port", "0", environment=environment)
    assert done.returncode != 0
    assert "The extension ui requires the extension records, which is off." in done.stderr
