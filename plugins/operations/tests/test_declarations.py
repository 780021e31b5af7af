"""The declarations of another extension: its checks, its rules about rows, its retention rule; and its probe."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from pathlib import Path

import httpx
import pytest

from identity_core.bootstrap import open_installation
from identity_core.extension.choice import choose_extensions, in_order
from identity_core.plugin.load import PluginSource
from identity_core.settings import Settings, SettingsError, StartError, load
from plugins.operations.tests import notes
from tests.unit.cli.conftest import Commands

HANA, VERA = "did:example:hana", "did:example:vera"
ON = {"IDENTITY_PLUGINS_MODULES": notes.MODULE}


async def ready(settings: Settings) -> httpx.Response:
    """Start the service, and return the answer of ``/ready`` to an operator."""
    async with open_installation(settings) as installation:
        key = str(await installation.first_key())
        transport = httpx.ASGITransport(app=installation.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.get("/ready", headers={"X-API-Key": key})


@pytest.fixture
def noted(identity: Commands, here: Path) -> Commands:
    """Return commands on an installation with three notes."""
    settings = load(environment=ON, overrides={"data_dir": here / "data"})
    asyncio.run(ready(settings))
    rows = [("a", HANA, 1, "one"), ("b", HANA, 2, ""), ("c", VERA, 3, "three")]
    with closing(sqlite3.connect(here / "data" / "identity.sqlite")) as connection, connection:
        connection.executemany("INSERT INTO notes VALUES (?, ?, ?, ?)", rows)
    identity.environment.update(ON, IDENTITY_DATA_DIR=str(here / "data"))
    return identity


def test_probe_of_an_extension_is_in_readiness(tmp_path: Path) -> None:
    with_it = asyncio.run(ready(load(environment=ON, overrides={"data_dir": tmp_path / "a"})))
    without = asyncio.run(ready(load(environment={}, overrides={"data_dir": tmp_path / "b"})))
    assert (with_it.status_code, with_it.json()["status"]) == (200, "ready")
    assert with_it.json()["dependencies"] == {**without.json()["dependencies"], "notes": "degraded"}


def test_doctor_runs_the_checks_of_an_extension(noted: Commands) -> None:
    findings = json.loads(noted("doctor", "--json").stdout)["findings"]
    by_check = {one["check"]: one for one in findings}
    assert by_check["notes"]["state"] == "warn"
    assert (by_check["notes"]["says"], by_check["notes"]["remedy"]) == ("notes are in data", "read them")
    assert by_check["broken notes"]["state"] == "fail"
    assert "ZeroDivisionError: no notes" in by_check["broken notes"]["says"]


def test_doctor_ignores_an_extension_that_is_off(noted: Commands) -> None:
    noted.environment["IDENTITY_EXTENSIONS_DISABLED"] = "notes"
    found = json.loads(noted("doctor", "--json").stdout)["findings"]
    assert "notes" not in {one["check"] for one in found}


def test_fsck_examines_the_rows_of_an_extension(noted: Commands) -> None:
    result = noted("fsck", "--json")
    assert result.exit_code == 1
    (found,) = json.loads(result.stdout)["findings"]
    assert found == {"kind": "note", "where": "b", "says": "is empty", "remedy": "write it"}


def test_records_of_an_extension_are_exported_and_erased(noted: Commands, here: Path) -> None:
    exported = [json.loads(line) for line in noted.ok("records", "export", HANA).splitlines()]
    assert [(one["record"], one["id"]) for one in exported] == [("notes", "a"), ("notes", "b")]
    assert exported[0]["created_at"] == "1970-01-01T00:00:00Z"
    assert noted.json("records", "erase", HANA, "--yes")["erased"]["notes"] == 2
    with closing(sqlite3.connect(here / "data" / "identity.sqlite")) as connection:
        assert connection.execute("SELECT id FROM notes").fetchall() == [("c",)]


def test_second_rule_of_a_table_stops_the_startup() -> None:
    twice = notes.identity_extend()
    sources = [PluginSource(name, name, "1", lambda: None) for name in ("a", "b")]
    other = type(twice)(name="other", kernel=">=1", open=notes.open_notes, retention=twice.retention)
    chosen = choose_extensions(in_order(zip(sources, (twice, other), strict=True)), load(environment={}), ())
    with pytest.raises(StartError, match="retention rules of notes"):
        chosen.retention_rules()


@pytest.mark.parametrize("kind", ["timeline", "verifications", "proofs", "credentials"])
def test_period_without_operations_stops_the_startup(tmp_path: Path, kind: str) -> None:
    """Else records would be kept longer than the settings say, and no answer would show it."""
    overrides = {"data_dir": tmp_path, "extensions.disabled": ("operations",), f"retention.{kind}_days": 7.0}
    with pytest.raises(SettingsError) as refused:
        asyncio.run(ready(load(environment={}, overrides=overrides)))
    assert f"retention.{kind}_days" in refused.value.what
    assert f"unset retention.{kind}_days" in refused.value.fix
