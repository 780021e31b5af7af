"""Backups of a service at work, backups and restores that are killed, and a machine whose disk is gone."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests import servers
from tests.attack.stranger import PREFIX
from tests.fault.creators import Acknowledged, check_all_are_there, creating
from tests.fault.service_process import API_KEY, ROOT, eventually, service
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

ROUNDS = int(os.environ.get("IDENTITY_ROUNDS", "3"))
WRITERS, BEFORE_EACH = 4, 8


def identity(*words: str | Path, more: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    return servers.run(
        *words, environment=environment | servers.PATIENT | {"API_KEY": API_KEY, "PYTHONPATH": str(ROOT)} | (more or {})
    )


def run_json(*words: str | Path, more: Mapping[str, str] | None = None) -> Any:
    ended = identity(*words, "--json", more=more)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


@pytest.fixture
def key(tmp_path: Path) -> Path:
    path = tmp_path / "safe" / "key"
    path.parent.mkdir()
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


def only(acknowledged: dict[str, str]) -> Acknowledged:
    return Acknowledged(dict(acknowledged))


def test_backups_under_load_have_all_acknowledged_writes(tmp_path: Path, key: Path) -> None:
    made: list[tuple[Path, dict[str, str]]] = []
    acknowledged = Acknowledged()
    with service(tmp_path / "data") as running:
        with creating([running], acknowledged, each=WRITERS):
            for turn in range(ROUNDS):
                eventually(lambda: len(acknowledged.hashes) >= BEFORE_EACH * (turn + 1), "there is load")  # noqa: B023
                with acknowledged.lock:
                    before = dict(acknowledged.hashes)
                backup = tmp_path / f"{turn}.backup"
                said = run_json("backup", "create", backup, "--key-file", key, "--data-dir", tmp_path / "data")
                assert said["entries"] >= len(before)
                made.append((backup, before))
            eventually(lambda: len(acknowledged.hashes) > len(before), "the writers go on after the backup")
        assert (acknowledged.refused, acknowledged.strange, acknowledged.lost_answers) == ({}, [], 0)
        check_all_are_there([running], acknowledged)
    for backup, before in made:
        target = tmp_path / f"restored-{backup.stem}"
        said = run_json("backup", "restore", backup, "--key-file", key, "--data-dir", target, "--nothing-newer")
        assert said["serves"]
        with service(target) as copy:
            check_all_are_there([copy], only(before))
            assert copy.stranger.create({"method": "ids"}).status == 201


def killed_at_lines(how_many: int, folder: Path, *words: str | Path) -> list[dict[str, Any]]:
    command = [
        sys.executable,
        "-m",
        "plugins.operations.tests.killed_at_lines",
        str(how_many),
        str(folder),
        *map(str, words),
    ]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600)
    assert ended.returncode == 0, ended.stderr
    first, *runs = map(json.loads, ended.stdout.splitlines())
    assert first["whole"]["status"] == 0, ended.stderr
    assert len(runs) >= how_many
    return [first, *runs]


@pytest.fixture
def backup(tmp_path: Path, key: Path) -> Path:
    """One of an installation with a DID."""
    with service(tmp_path / "data") as running:
        assert running.stranger.create({"method": "ids"}).status == 201
        run_json("backup", "create", tmp_path / "a.backup", "--key-file", key, "--data-dir", tmp_path / "data")
    return tmp_path / "a.backup"


DATABASES = {"custodian.key", "custodian.sqlite", "identity.sqlite", "keys.sqlite", "ledger.sqlite"}


def test_a_restore_that_is_killed_leaves_nothing_half(tmp_path: Path, key: Path, backup: Path) -> None:
    words = ("backup", "restore", backup, "--key-file", key, "--data-dir", tmp_path / "x" / "data", "--nothing-newer")
    first, *runs = killed_at_lines(ROUNDS, tmp_path / "x", *words)
    whole = set(first["left"]["x/data"])
    assert whole >= DATABASES
    seen = set()
    for one in runs:
        named, left = one["left"]["x"], one["left"]
        seen.add("data" in named)
        if "data" in named:
            # The name is the last thing that it gets.
            assert set(left["x/data"]) == whole
            assert "data.checkpoint" in named
            assert one["again"]["status"] == 1
        else:
            assert all(name == "data.checkpoint" or name.startswith(".") for name in named), one
            assert one["again"]["status"] == 0, one
        assert one["then"]["x"] == ["data", "data.checkpoint"], one
    assert seen == {True, False}, "kills came before and after the name was given"


def test_a_backup_that_is_killed_is_none_or_whole(tmp_path: Path, key: Path, backup: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "x" / "b.backup"
    words = ("backup", "create", target, "--key-file", key, "--data-dir", data)
    _, *runs = killed_at_lines(ROUNDS, tmp_path / "x", *words)
    for one in runs:
        named = [name for name in one["left"]["x"] if not name.startswith(".")]
        assert one["again"]["status"] == (1 if named else 0), one
    assert run_json("backup", "verify", target, "--key-file", key)["entries"] == 1
    # What the killed ones left in the data directory, the next one has removed.
    assert [path.name for path in data.iterdir() if path.name.startswith(".")] == []


def test_a_machine_whose_disk_is_gone_comes_back_from_backup(tmp_path: Path, key: Path) -> None:
    """Everything that was acknowledged before the backup is there; what was acknowledged since is said to be lost; nothing is signed under
    the old name that contradicts what a monitor holds."""
    machine, monitor = tmp_path / "machine", tmp_path / "monitor.checkpoint"
    machine.mkdir()
    kept, lost = Acknowledged(), Acknowledged()
    with service(machine / "data") as running:
        with creating([running], kept, each=2):
            eventually(lambda: len(kept.hashes) >= 5, "there are DIDs")
        victim = running.stranger.holder()
        run_json("backup", "create", tmp_path / "a.backup", "--key-file", key, "--data-dir", machine / "data")
        assert victim.act("deactivate", {"confirm": True, "reason": "stolen"}).status == 200
        with creating([running], lost, each=2):
            eventually(lambda: len(lost.hashes) >= 3, "there are more")
        monitor.write_bytes(running.wire.call("GET", f"{PREFIX}/ledger/checkpoint").body)
        running.kill()
    origin, size = monitor.read_text().splitlines()[:2]
    shutil.rmtree(machine)
    machine.mkdir()
    restore = ("backup", "restore", tmp_path / "a.backup", "--key-file", key, "--data-dir", machine / "data")
    # Nothing on this machine tells how far the log was.
    assert identity(*restore).returncode == 1
    said = run_json(*restore, "--checkpoint", monitor)
    assert said["entriesLost"] == len(lost.hashes) + 1 == int(size) - said["entries"]
    assert (said["serves"], said["log"]) == (False, origin)
    refused = identity("serve", "--port", "0", "--data-dir", machine / "data")
    assert refused.returncode == 1
    assert f"{said['entriesLost']} are lost" in refused.stderr
    forked = identity("ledger", "accept-rollback", "--yes", "--data-dir", machine / "data")
    assert forked.returncode == 1
    assert "is a fork" in forked.stderr
    run_json("ledger", "accept-rollback", "--yes", "--data-dir", machine / "data", "--new-origin", "again.example/log")
    with service(machine / "data") as running:
        check_all_are_there([running], kept)
        for did in lost.hashes:
            assert running.wire.call("GET", f"{PREFIX}/dids/{did}").status == 404
        victim.wire = running.wire
        assert victim.act("deactivate", {"confirm": True, "reason": "again"}).status == 200
        note = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint").body.decode()
        assert note.startswith("again.example/log\n")
    assert run_json("ledger", "audit", "--data-dir", machine / "data")["sound"]


def test_restored_database_server_is_checked(tmp_path: Path, postgres_server: PostgresServer) -> None:
    """pg_dump runs beside the service. The copy is whole, is behind what was acknowledged since, and a row that was changed is found."""
    live, dump, checkpoint = postgres_server.new_database(), tmp_path / "identity.dump", tmp_path / "checkpoint"
    with service(tmp_path / "data", environment={"IDENTITY_DATABASE_URL": live}) as running:
        for _ in range(3):
            assert running.stranger.create({"method": "ids"}).status == 201
        pg("dump", postgres_server, "--format=custom", f"--file={dump}", live)
        assert running.stranger.create({"method": "ids"}).status == 201
        checkpoint.write_bytes(running.wire.call("GET", f"{PREFIX}/ledger/checkpoint").body)
    ended = identity("backup", "verify", dump)
    assert (ended.returncode, "pg_restore" in ended.stdout) == (1, True)
    copy = postgres_server.new_database()
    pg("restore", postgres_server, f"--dbname={copy}", dump)
    words = ("backup", "verify", "--database-url", copy, "--data-dir", tmp_path / "data")
    said = run_json(*words, "--checkpoint", checkpoint)
    assert (said["entries"], said["entriesLost"], said["findings"]) == (3, 1, [])
    assert said["auditLines"] >= 3
    with psycopg.connect(copy, autocommit=True) as connection:
        connection.execute("UPDATE did_versions SET owner = 'key:thief' WHERE sequence = 2")
    ended = identity(*words, "--json")
    assert ended.returncode == 1
    assert [one["kind"] for one in json.loads(ended.stdout)["findings"]] == ["index"]


def pg(tool: str, server: PostgresServer, *words: str | Path) -> None:
    subprocess.run([server.bin / f"pg_{tool}", *words], check=True, capture_output=True, timeout=120)
