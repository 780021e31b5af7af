"""Findings about places, programs and numbers: each remedy is done, after which nothing is found any more. And a table in which
each finding of the doctor has the test of its remedy."""

from __future__ import annotations

import ast
import importlib
import json
import os
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import pytest
from identity_bound_credentials import doctor_credentials
from identity_operations.checks import database as doctor_database
from identity_operations.checks import holder_file, machine, tables
from identity_operations.commands import doctor
from identity_transparency import checks

from identity_core.extension import declaration
from plugins.operations.tests.test_doctor_remedies import examined
from plugins.operations.tests.test_doctor_remedies_typed import installed
from tests.postgres_server import PostgresServer, postgres_server
from tests.unit.cli.conftest import Commands

__all__ = ["installed", "postgres_server"]


def test_a_data_directory_of_another_user(installed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owner = installed.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    (found,) = examined("data directory", {})
    assert (found.state, found.remedy) == ("warn", "run the service as that user")
    assert found.says.endswith(f"belongs to user {owner}")
    monkeypatch.setattr(os, "geteuid", lambda: owner)
    assert examined("data directory", {}) == []


def test_a_folder_above_that_every_user_can_write(installed: Path) -> None:
    """Another user renames the data directory and makes one with other keys; a sticky folder prevents that."""
    above = installed.parent
    above.chmod(0o777)
    (found,) = examined("data directory", {})
    assert (found.state, found.remedy) == ("warn", f"chmod o-w {above.resolve()}")
    above.chmod(0o1777)
    assert examined("data directory", {}) == []


def test_a_data_directory_that_is_none(identity: Commands, here: Path) -> None:
    (here / "data").write_text("")
    (found,) = examined("data directory", {})
    assert found.remedy == "name another with --data-dir, or change its owner"
    (here / "other").mkdir(mode=0o700)
    looked = json.loads(identity("doctor", "--data-dir", "other", "--json").stdout)["findings"]
    assert [one["state"] for one in looked if one["check"] == "data directory"] == ["ok"]


def test_the_first_start_is_the_remedy(identity: Commands, here: Path) -> None:
    """`identity keys create` makes an installation as a start does."""
    (found,) = examined("installation", {})
    assert found.remedy.endswith("before the first start: `identity serve`")
    (here / "data").mkdir(mode=0o700)
    (here / "data/note").touch()
    (found,) = examined("API keys", {})
    assert found.remedy == "nothing: the first start makes one"
    identity.ok("keys", "create", "--name", "ops", "--admin", "--data-dir", "data")
    assert [*examined("installation", {}), *examined("data directory", {}), *examined("API keys", {})] == []


def test_a_key_beside_what_it_seals(identity: Commands, installed: Path) -> None:
    """The passphrase is set for an installation that is there: its next opening seals under it."""
    assert examined("master key", {}) == [], "a service for its own machine needs no passphrase"
    (found,) = examined("master key", {"IDENTITY_SERVER_HOST": "0.0.0.0"})
    assert found.remedy.startswith("set IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE, start the service, then remove")
    shutil.copyfile(installed / "custodian.key", installed.with_name("copy.key"))
    installed.with_name("passphrase").write_text("correct horse battery staple")
    named = {"IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE": str(installed.with_name("passphrase"))}
    named["IDENTITY_SERVER_HOST"] = "0.0.0.0"
    Commands(named).ok("keys", "list", "--data-dir", "data")
    assert [*examined("master key", named), *examined("plugins", named), *examined("API keys", named)] == []


def test_fewer_workers(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 2)
    (found,) = examined("server", {"IDENTITY_SERVER_WORKERS": "3"})
    assert (found.says, found.remedy) == ("3 workers on 2 processors", "take fewer")
    assert examined("server", {"IDENTITY_SERVER_WORKERS": "2"}) == []


def test_a_network_file_system(here: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever is below `data` is on one."""
    kind = doctor_database.file_system
    mounts = here / "mounts"
    mounts.write_text(f"/dev/sda1 / ext4 rw 0 0\nserver:/x {here}/data nfs4 rw 0 0\n")
    monkeypatch.setattr(doctor_database, "file_system", lambda folder, _: kind(folder, mounts))
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 51, 3))
    (found,) = examined("database", {})
    assert found.remedy == "use a local disk, or a PostgreSQL server: --database-url"
    on_server = examined("database", {"IDENTITY_DATABASE_URL": postgres_server.url()})
    assert not [one for one in on_server if "network file system" in one.says]
    mounts.write_text("/dev/sda1 / ext4 rw 0 0\n")
    assert examined("database", {}) == []


TYPED, DONE, CREDENTIALS = "test_doctor_remedies_typed", "test_doctor_remedies_done", "test_doctor_credentials"
MACHINE, HELD = "test_doctor_machine", "plugins.commands.tests.test_credential_secret"
WITNESSES = "plugins.transparency.tests.test_service_witnesses"
OF_FINDINGS = {
    "doctor.examine": [("test_declarations", "test_doctor_runs_the_checks_of_an_extension")],
    "doctor._installation": [(DONE, "test_the_first_start_is_the_remedy")],
    "doctor._data_directory": [
        (DONE, "test_a_data_directory_that_is_none"),
        (DONE, "test_a_data_directory_of_another_user"),
        ("test_doctor_remedies", "test_modes_are_what_the_remedy_makes_them"),
        (DONE, "test_a_folder_above_that_every_user_can_write"),
        ("test_doctor_remedies", "test_modes_are_what_the_remedy_makes_them"),
    ],
    "doctor._disk": [(TYPED, "test_room_is_made")],
    "doctor._curves": [(TYPED, "test_curves_are_installed")] * 2,
    "doctor._throttle": [
        ("test_doctor_remedies", "test_settings_are_what_the_remedy_says"),
        (TYPED, "test_redis_is_started_or_another_is_named"),
    ],
    "doctor._server": [
        ("test_doctor_remedies", "test_settings_are_what_the_remedy_says"),
        ("test_doctor_remedies", "test_settings_are_what_the_remedy_says"),
        (DONE, "test_fewer_workers"),
    ],
    "doctor._plugins": [(TYPED, "test_a_plugin_that_fails_is_disabled_or_goes")],
    "doctor._master_key": [(DONE, "test_a_key_beside_what_it_seals")],
    "doctor._api_keys": [
        (TYPED, "test_a_key_store_that_is_another_is_put_back"),
        (DONE, "test_the_first_start_is_the_remedy"),
    ],
    "doctor_credentials.credentials": [(CREDENTIALS, "test_reissued_suite_1_credentials_are_not_listed")],
    "doctor_credentials.status_lists": [(CREDENTIALS, "test_a_list_that_is_not_published_for_now_is_told")] * 2,
    "doctor_credentials.holders": [(CREDENTIALS, "test_secrets_of_holders_that_are_not_kept_are_told")] * 2,
    "doctor_credentials._of_former_roots": [(CREDENTIALS, "test_credentials_of_stolen_key_are_listed_by_issuer")],
    "declaration.stopped": [(TYPED, "test_plugins_are_chosen_as_the_remedy_says")],
    "database._sqlite": [(DONE, "test_a_network_file_system")],
    "database._postgresql": [
        (MACHINE, "test_a_library_that_is_missing_is_named"),
        (TYPED, "test_a_server_that_is_away_is_started_or_another_is_named"),
    ],
    "database.judge": [(TYPED, "test_a_server_is_set_right")] * 4,
    "database.tables": [
        (TYPED, "test_broken_file_is_restored"),
        (TYPED, "test_added_row_is_removed"),
    ],
    "database.index": [
        ("tests.attack.test_index_tampering", "test_no_edit_of_a_row_is_believed_and_no_other_did_suffers")
    ],
    "database._broken_files": [(TYPED, "test_broken_file_is_restored")],
    "database._compared": [
        ("test_doctor_storage", "test_database_faults_are_reported"),
        ("test_upgrade", "test_an_older_installation_is_brought_up_with_its_backup"),
        ("tests.fault.test_clock", "test_doctor_names_entry_that_was_recorded_for_time_to_come"),
    ],
    "database.checkpoint": [("test_doctor_remedies", "test_settings_are_what_the_remedy_says")],
    "holder_file.holders_file": [
        (HELD, "test_a_file_that_lost_its_secret_is_told"),
        (HELD, "test_rotation_lists_credentials_to_issue_again"),
    ],
    "machine.clocks": [(MACHINE, "test_a_clock_that_went_back"), (MACHINE, "test_the_clock_of_a_server")],
    "machine.listener": [(MACHINE, "test_somebody_else_at_the_port_is_told")],
    "machine.backups": [(MACHINE, "test_the_age_of_the_newest_backup")] * 3,
    "checks.witnesses": [(TYPED, "test_a_policy_is_written_as_the_remedy_says")],
    "checks._compared": [(WITNESSES, "test_the_doctor_says_how_far_the_quorum_is")] * 3,
}


def findings_of(path: Path) -> Counter[str]:
    """How often each function of a module finds something that has a remedy."""
    found: Counter[str] = Counter()
    for function in ast.parse(path.read_text()).body:
        if isinstance(function, ast.FunctionDef):
            calls = [one.func for one in ast.walk(function) if isinstance(one, ast.Call)]
            made = sum(isinstance(one, ast.Name) and one.id in ("warn", "wrong") for one in calls)
            found.update({f"{path.stem}.{function.name}": made})
    return +found


def test_each_finding_has_the_test_of_its_remedy() -> None:
    """A new finding needs a test that types its remedy, which is named here."""
    found: Counter[str] = Counter()
    for module in (doctor, declaration, doctor_database, machine, tables, doctor_credentials, holder_file, checks):
        found += findings_of(Path(module.__file__))
    assert {name: len(tests) for name, tests in OF_FINDINGS.items()} == dict(found)
    for module, name in {test for tests in OF_FINDINGS.values() for test in tests}:
        place = importlib.import_module(module if "." in module else f"plugins.operations.tests.{module}")
        assert hasattr(place, name), (module, name)
