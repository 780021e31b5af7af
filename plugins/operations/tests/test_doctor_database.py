"""Checks of a database: what was acknowledged must not be lost."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from identity_operations.checks import database as doctor_database

from identity_core.settings import load
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

SAFE = {
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "synchronous_standby_names": "ANY 1 (a, b)",
    doctor_database.STANDBYS: "2",
}


@pytest.mark.parametrize(
    ("change", "state", "says"),
    [
        ({"fsync": "off"}, "fail", "fsync = off"),
        ({"full_page_writes": "off"}, "fail", "full_page_writes = off"),
        ({"synchronous_commit": "off"}, "fail", "synchronous_commit is off"),
        ({"synchronous_commit": "local"}, "fail", "synchronous_commit is local"),
        ({"synchronous_standby_names": ""}, "warn", "has no synchronous standby"),
        ({doctor_database.STANDBYS: "0"}, "warn", "no synchronous standby is connected"),
    ],
)
def test_a_server_that_forgets(change: dict[str, str], state: str, says: str) -> None:
    (finding,) = doctor_database.judge(SAFE | change)
    assert finding.state == state
    assert says in finding.says
    assert finding.remedy


def test_a_server_with_a_synchronous_standby_is_well() -> None:
    assert list(doctor_database.judge(SAFE)) == []


def test_a_real_server_is_asked(postgres_server: PostgresServer) -> None:
    said = doctor_database.ask(postgres_server.url())
    assert set(said) == {*doctor_database.ASKED, doctor_database.STANDBYS}
    assert said[doctor_database.STANDBYS] == "0"
    # The server of the tests is fast because it may lose everything.
    assert {finding.state for finding in doctor_database.judge(said)} == {"fail", "warn"}


def test_a_server_that_is_away_is_one_finding(tmp_path: Path) -> None:
    settings = load(environment={}, overrides={"database_url": "postgresql://identity@127.0.0.1:1/none"})
    (finding,) = doctor_database.database(settings)
    assert finding.state == "fail"
    assert "does not answer" in finding.says


def test_all_servers_are_named_and_no_password(tmp_path: Path) -> None:
    url = "postgresql://identity:hunter2@127.0.0.1:1,127.0.0.1:2/none?target_session_attrs=read-write"
    (finding,) = doctor_database.database(load(environment={}, overrides={"database_url": url}))
    assert "127.0.0.1:1,127.0.0.1:2/none" in finding.says
    assert "hunter2" not in finding.says


@pytest.mark.parametrize(
    ("version", "has_bug"), [((3, 6, 23), False), ((3, 40, 1), True), ((3, 51, 2), True), ((3, 51, 3), False)]
)
def test_an_sqlite_with_the_wal_reset_bug(
    version: tuple[int, int, int], has_bug: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", version)
    (finding,) = doctor_database.database(load(environment={}, overrides={"data_dir": tmp_path}))
    assert (finding.state, "can lose commits" in finding.says) == ("ok", has_bug)


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/data/x", "nfs4"), ("/data", "nfs4"), ("/database", "ext4"), ("/data/local disk/y", "xfs"), ("/", "ext4")],
)
def test_the_file_system_of_a_folder(folder: str, kind: str, tmp_path: Path) -> None:
    mounts = tmp_path / "mounts"
    mounts.write_text("/dev/a / ext4 rw 0 0\nserver:/a /data nfs4 rw 0 0\n/dev/b /data/local\\040disk xfs rw 0 0\n")
    assert doctor_database.file_system(Path(folder), mounts) == kind


def test_a_machine_that_says_nothing_of_its_mounts(tmp_path: Path) -> None:
    assert doctor_database.file_system(tmp_path, tmp_path / "absent") is None


def test_a_network_file_system_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(doctor_database, "file_system", lambda folder, mounts: "nfs")
    (finding,) = doctor_database.database(load(environment={}, overrides={"data_dir": tmp_path}))
    assert finding.state == "fail"
    assert "network" in finding.says
