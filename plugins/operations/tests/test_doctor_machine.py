"""The doctor on the machine: what it finds, and each remedy done, after which it finds it no more."""

from __future__ import annotations

import os
import re
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_operations.checks import machine as doctor_machine

from identity_core.cli.serve import listening_at
from identity_core.files import install_command
from identity_core.settings import Settings, SettingsError, load
from tests.postgres_server import PostgresServer, postgres_server, postgres_url
from tests.unit.cli.conftest import Commands

__all__ = ["postgres_server", "postgres_url"]


def settings_of(folder: Path, **more: object) -> Settings:
    return load(environment={}, overrides={"data_dir": folder, **more})


def seconds_of(says: str) -> int:
    return int(re.findall(r"([-+]?[0-9]+) s ", says)[0])


def only(found: Iterator[Any]) -> Any:
    (one,) = found
    assert one.remedy or one.state in ("ok", "not checked")
    return one


def without_redis(patched: pytest.MonkeyPatch) -> None:
    patched.setitem(sys.modules, "identity_redis.buckets", None)


def test_a_library_that_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = settings_of(tmp_path, **{"throttle.redis_url": "redis://127.0.0.1:1/0"})
    with monkeypatch.context() as patched:
        without_redis(patched)
        with pytest.raises(SettingsError) as refused:
            only(doctor_machine.extras(settings))
    assert refused.value.fix == install_command("identity-service[redis]")
    # It is installed, as the remedy says.
    assert only(doctor_machine.extras(settings)).state == "ok"


def test_the_doctor_goes_on_behind_it(identity: Commands, here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without_redis(monkeypatch)
    identity.environment |= {"IDENTITY_THROTTLE_REDIS_URL": "redis://127.0.0.1:1/0"}
    told = identity("doctor")
    assert told.exit_code == 2
    assert "fail        libraries" in told.stdout
    assert install_command("identity-service[redis]") in told.stdout
    assert "backups" in told.stdout
    assert list(here.iterdir()) == []


def test_a_clock_that_went_back(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    assert only(doctor_machine.clocks(settings)).state == "ok"
    database = tmp_path / "identity.sqlite-wal"
    database.touch()
    os.utime(database, (time.time() + 3600,) * 2)
    found = only(doctor_machine.clocks(settings))
    assert found.state == "warn"
    assert 3000 < seconds_of(found.says) <= 3600
    assert "timedatectl" in found.remedy
    # The clock is set: what was written is of now.
    os.utime(database)
    assert only(doctor_machine.clocks(settings)).state == "ok"


def test_the_clock_of_a_server(
    tmp_path: Path, postgres_server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(tmp_path, database_url=postgres_server.new_database())
    assert only(doctor_machine.clocks(settings)).state == "ok"
    real = time.time
    for seconds in (60, -60):
        with monkeypatch.context() as patched:
            patched.setattr(doctor_machine.time, "time", lambda ahead=seconds: real() + ahead)
            found = only(doctor_machine.clocks(settings))
        assert found.state == "warn"
        # The question itself takes a moment.
        assert abs(seconds_of(found.says) + seconds) < 30


def test_a_service_that_runs_is_known(server: LocalServer) -> None:
    port = int(server.url.rpartition(":")[2])
    found = only(doctor_machine.listener(settings_of(server.data_dir, **{"server.port": port})))
    assert (found.state, "a service answers" in found.says) == ("ok", True)


@contextmanager
def answering(listening: socket.socket, answer: bytes) -> Iterator[None]:
    """One connection is answered so, whatever is asked."""

    def run() -> None:
        connection, _ = listening.accept()
        with connection:
            connection.recv(4096)
            connection.sendall(answer)

    thread = threading.Thread(target=run)
    thread.start()
    yield
    thread.join()


@pytest.mark.parametrize("answer", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\n\r\nhello", b"x" * 100_000])
def test_somebody_else_at_the_port_is_told(tmp_path: Path, answer: bytes) -> None:
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        settings = settings_of(tmp_path, **{"server.port": listening.getsockname()[1]})
        listening.listen()
        with answering(listening, answer):
            found = only(doctor_machine.listener(settings))
        assert (found.state, "something else" in found.says) == ("warn", True)
        assert "server.port" in found.remedy
    # It was stopped.
    found = only(doctor_machine.listener(settings))
    assert (found.state, "no process listens" in found.says) == ("not checked", True)


def test_a_unix_socket_is_looked_at_too(tmp_path: Path) -> None:
    path = tmp_path / "identity.sock"
    settings = settings_of(tmp_path, **{"server.unix_socket": path})
    assert only(doctor_machine.listener(settings)).state == "not checked"
    with listening_at(settings.server) as listening, answering(listening.socket, b"hello"):
        assert only(doctor_machine.listener(settings)).state == "warn"


def test_the_age_of_the_newest_backup(identity: Commands, server: LocalServer, here: Path) -> None:
    folder, key = here / "backups", here / "safe" / "key"
    settings = settings_of(server.data_dir, **{"backup.directory": folder})
    assert "names no folder" in only(doctor_machine.backups(settings_of(server.data_dir))).says
    found = only(doctor_machine.backups(settings))
    assert (found.state, "cannot be looked at" in found.says) == ("fail", True)
    folder.mkdir()
    (folder / "notes").write_text("identity-backup is what it should be")
    (folder / "old").mkdir()
    found = only(doctor_machine.backups(settings))
    assert (found.state, "there is no backup" in found.says) == ("fail", True)
    assert "identity backup create" in found.remedy
    key.parent.mkdir()
    key.write_bytes(os.urandom(32))
    key.chmod(0o600)
    identity.ok("backup", "create", folder / "night", "--key-file", key, "--data-dir", server.data_dir)
    assert only(doctor_machine.backups(settings)).state == "ok"
    os.utime(folder / "night", (time.time() - 100_000,) * 2)
    found = only(doctor_machine.backups(settings))
    assert (found.state, "28 hours" in found.says) == ("fail", True)
