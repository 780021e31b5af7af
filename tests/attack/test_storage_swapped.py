"""A thief with file access, or a careless restore: older, other, empty and broken databases instead of the right ones.

Each is reported at the next start, and by ``/ready`` while the service runs. Nothing is changed and no write is acknowledged. The
files are handled as an operator would, with ``cp``, ``rm`` and ``mv``.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest

from tests import servers
from tests.attack.stranger import PREFIX, Holder, Stranger
from tests.fault.service_process import API_KEY, ROOT, Running, eventually, service
from tests.postgres_server import PostgresServer, postgres_server, postgres_url

__all__ = ["postgres_server", "postgres_url"]

LEDGER, STORE = "ledger.sqlite", "identity.sqlite"
NEW = {"method": "ids", "keyType": "Ed25519"}


def stopped(running: Running) -> None:
    """An orderly stop: SIGTERM, to the end."""
    running.process.terminate()
    assert running.process.wait(60) == 0, running.log.read_text()[-2000:]


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("IDENTITY_")}
    environment |= {"API_KEY": API_KEY, "PYTHONPATH": str(ROOT)}
    return servers.run(*arguments, environment=environment)


def refusal(data_dir: Path) -> list[str]:
    """The three lines with which ``identity serve`` refuses to start."""
    ended = run("serve", "--port", "0", "--data-dir", data_dir)
    assert ended.returncode == 1, ended.stdout + ended.stderr
    lines = ended.stderr.strip().splitlines()[-3:]
    assert [line[:7] for line in lines] == ["error: ", "  at: " + lines[1][6], "  do: " + lines[2][6]], ended.stderr
    assert "see the code" not in ended.stderr
    return lines


def state_of(running: Running) -> str:
    """What one process says of its storage, to anyone who has a key; strangers see the status alone."""
    ready = running.wire.call("GET", "/ready", headers={"X-API-Key": API_KEY}, fresh=True)
    return str(ready.json["dependencies"]["storage"])


def copied(source: Path, target: Path) -> Path:
    shutil.copytree(source, target)
    return target


def restore_files(backup: Path, data_dir: Path, *names: str) -> None:
    """The files of these databases as they are in ``backup``, and nothing else of them."""
    for name in names:
        for old in data_dir.glob(f"{name}*"):
            old.unlink()
        for one in backup.glob(f"{name}*"):
            shutil.copy2(one, data_dir / one.name)


class History:
    """An installation of six DIDs, one of them deactivated; its backup after three; and another installation of ten."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        with service(self.data) as running:
            self.victim: Holder = running.stranger.holder()
            running.stranger.holder()
            stopped(running)
        self.older = copied(self.data, folder / "older")
        with service(self.data) as running:
            self.victim.wire = running.wire
            assert self.victim.act("deactivate", {"confirm": True, "reason": "lost"}).status == 200
            for _ in range(3):
                running.stranger.holder()
            stopped(running)
        self.good = copied(self.data, folder / "good")
        self.other = folder / "other"
        with service(self.other) as running:
            for _ in range(10):
                running.stranger.holder()
            stopped(running)


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return History(tmp_path_factory.mktemp("history"))


@pytest.fixture
def data(history: History, tmp_path: Path) -> Iterator[Path]:
    """The installation as it should be, before each test."""
    shutil.rmtree(history.data, ignore_errors=True)
    shutil.copytree(history.good, history.data)
    memory = history.data.with_name("data.checkpoint")
    before = memory.read_bytes()
    yield history.data
    memory.write_bytes(before)


def half(path: Path) -> None:
    with path.open("rb+") as file:
        file.truncate(path.stat().st_size // 8192 * 4096)


def scribble(path: Path) -> None:
    with path.open("rb+") as file:
        file.seek(4096)
        file.write(b"\xff" * (path.stat().st_size - 4096))


SWAPS: dict[str, Callable[[History, Path], None]] = {
    "ledger_lost": lambda h, d: (d / LEDGER).unlink(),
    "ledger_older": lambda h, d: restore_files(h.older, d, LEDGER),
    "ledger_foreign": lambda h, d: restore_files(h.other, d, LEDGER),
    "ledger_empty": lambda h, d: (d / LEDGER).write_bytes(b""),
    "ledger_truncated": lambda h, d: half(d / LEDGER),
    "ledger_scribbled": lambda h, d: scribble(d / LEDGER),
    "ledger_no_database": lambda h, d: (d / LEDGER).write_bytes(b"no database at all" * 1000),
    "store_lost": lambda h, d: (d / STORE).unlink(),
    "store_older": lambda h, d: restore_files(h.older, d, STORE),
    "store_foreign": lambda h, d: restore_files(h.other, d, STORE),
    "store_empty": lambda h, d: (d / STORE).write_bytes(b""),
    "store_truncated": lambda h, d: half(d / STORE),
    "store_scribbled": lambda h, d: scribble(d / STORE),
    "store_no_database": lambda h, d: (d / STORE).write_bytes(b"no database at all" * 1000),
    "both_older": lambda h, d: restore_files(h.older, d, LEDGER, STORE),
    "both_lost": lambda h, d: restore_files(d / "nowhere", d, LEDGER, STORE),
    "both_foreign": lambda h, d: restore_files(h.other, d, LEDGER, STORE),
    "all_older": lambda h, d: restore_files(h.older, d, ""),
    "all_foreign": lambda h, d: restore_files(h.other, d, ""),
    "ledger_changed": lambda h, d: alter(d / LEDGER),
}


def alter(path: Path) -> None:
    """The newest entry is another one."""
    connection = sqlite3.connect(path)
    for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
        connection.execute(f"DROP TRIGGER {trigger}")
    newest = "(SELECT max(sequence) FROM ledger_entries)"
    connection.execute(f"UPDATE ledger_entries SET recorded_at = recorded_at + 1 WHERE sequence = {newest}")
    connection.commit()
    connection.close()


@pytest.mark.parametrize("swap", SWAPS)
def test_a_start_over_other_databases_is_refused(history: History, data: Path, swap: str) -> None:
    SWAPS[swap](history, data)
    what, where, remedy = refusal(data)
    broken = swap.endswith(("truncated", "scribbled", "no_database"))
    assert ("is damaged" if broken else "are not those that this service wrote") in what
    assert str(data) in where
    assert "back" in remedy


def test_the_right_databases_start_again(history: History, data: Path) -> None:
    restore_files(history.older, data, LEDGER, STORE)
    refusal(data)
    restore_files(history.good, data, LEDGER, STORE)
    with service(data) as running:
        history.victim.wire = running.wire
        assert history.victim.resolve().outcome == (410, "DID_DEACTIVATED")
        assert running.stranger.create(NEW).status == 201


def test_older_backup_is_served_only_after_loss_was_accepted(history: History, data: Path) -> None:
    restore_files(history.older, data, LEDGER, STORE)
    asked = run("ledger", "accept-rollback", "--data-dir", data, "--json")
    assert asked.returncode == 1
    assert "Lost: 4 ledger entries (there are 2)" in asked.stderr
    refusal(data)
    accepted = run("ledger", "accept-rollback", "--data-dir", data, "--yes")
    assert accepted.returncode == 0, accepted.stderr
    with service(data) as running:
        history.victim.wire = running.wire
        assert history.victim.resolve().status == 200
        assert running.stranger.create(NEW).status == 201
        lines = running.wire.call("GET", f"{PREFIX}/audit", headers={"X-API-Key": API_KEY})
        assert b"acceptRollback" in lines.body, lines.body


@pytest.mark.parametrize("names", [(LEDGER,), (STORE,)])
def test_a_rollback_of_one_of_the_two_can_be_accepted(history: History, data: Path, names: tuple[str, ...]) -> None:
    """The index of the store is made again from the ledger, and cut where the ledger ends."""
    restore_files(history.older, data, *names)
    assert run("ledger", "accept-rollback", "--data-dir", data, "--yes").returncode == 0
    with service(data) as running:
        history.victim.wire = running.wire
        gone = names == (STORE,)
        assert history.victim.resolve().status == (410 if gone else 200)
        assert running.stranger.create(NEW).status == 201
        checkpoint = running.wire.call("GET", f"{PREFIX}/ledger/checkpoint").body.decode()
        assert checkpoint.splitlines()[1] == ("7" if gone else "3")


@pytest.mark.parametrize("names", [(LEDGER,), (STORE,)])
def test_foreign_rows_are_not_accepted(history: History, data: Path, names: tuple[str, ...]) -> None:
    restore_files(history.other, data, *names)
    ended = run("ledger", "accept-rollback", "--data-dir", data, "--yes")
    assert ended.returncode == 1
    assert "of different installations" in ended.stderr
    refusal(data)


@pytest.mark.parametrize("workers", ["1", "2"])
@pytest.mark.parametrize("name", [LEDGER, STORE])
@pytest.mark.parametrize("how", ["removed", "replaced"])
def test_a_running_service_stops_writing(history: History, data: Path, name: str, how: str, workers: str) -> None:
    with service(data, "--workers", workers) as running:
        # One that started later would find a mismatch at its start, which is another test.
        running.wire.await_processes(int(workers))
        stranger: Stranger = running.stranger
        holder = stranger.holder()
        if how == "removed":
            (data / name).unlink()
        else:
            shutil.copy2(history.older / name, data / "put")
            os.replace(data / "put", data / name)
        # At once, before any check has run: no write goes to a file that is no longer used.
        answers = [stranger.create(NEW) for _ in range(5)]
        assert {answer.outcome for answer in answers} == {(503, "STORAGE_MISMATCH")}
        assert all("identity doctor" in answer.json["error"]["details"]["remedy"] for answer in answers)
        eventually(lambda: running.wire.call("GET", "/ready", fresh=True).status == 503, "unready")
        eventually(
            lambda: all(state_of(running) == "mismatch" for _ in range(4 * int(workers))),
            "a mismatch, in each process",
        )
        assert holder.resolve().status == 200
        assert stranger.create(NEW).outcome == (503, "STORAGE_MISMATCH")


def test_remains_of_a_kill_are_no_rollback(data: Path) -> None:
    """A checkpoint is remembered each second and the process is killed between: the databases are ahead of it, or even."""
    often = {"IDENTITY_LEDGER_CHECKPOINT_SECONDS": "1"}
    for _ in range(4):
        with service(data, environment=often) as running:
            for _ in range(20):
                assert running.stranger.create(NEW).status == 201
            running.kill()
    with service(data) as running:
        assert running.stranger.create(NEW).status == 201


def test_without_the_note_a_start_begins_a_new_one(history: History, data: Path) -> None:
    """The installation of an earlier version has none."""
    data.with_name("data.checkpoint").unlink()
    with service(data) as running:
        assert running.stranger.create(NEW).status == 201
        stopped(running)
    assert data.with_name("data.checkpoint").stat().st_mode & 0o777 == 0o600
    restore_files(history.good, data, LEDGER, STORE)
    assert "are not those" in refusal(data)[0]


@pytest.mark.parametrize("text", [b"", b"{}", b"\xff" * 100, b'{"checkpoint": 1, "auditLines": 0, "auditLink": ""}'])
def test_a_note_that_is_none_is_told(data: Path, text: bytes) -> None:
    data.with_name("data.checkpoint").write_bytes(text)
    what, where, remedy = refusal(data)
    assert "cannot be read" in what
    assert "data.checkpoint" in where
    assert "accept-rollback" in remedy


def test_a_note_of_another_installation_is_told(history: History, data: Path) -> None:
    shutil.copy2(history.other.with_name("other.checkpoint"), data.with_name("data.checkpoint"))
    assert "are not those" in refusal(data)[0]


def renamed(server: PostgresServer, old: str, new: str) -> None:
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute(f"ALTER DATABASE {old} RENAME TO {new}")


def test_yesterdays_dump_on_a_server_is_told(
    postgres_server: PostgresServer, postgres_url: str, tmp_path: Path
) -> None:
    """Put back under a running service, and before a start; one has another machine's note beside its own data directory."""
    name, where = postgres_url.rpartition("/")[2], ("--database-url", postgres_url)
    data, backup = tmp_path / "data", f"{postgres_url.rpartition('/')[2]}_yesterday"
    with service(data, *where) as running:
        running.stranger.holder()
        stopped(running)
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {backup} TEMPLATE {name}")
    with service(data, *where) as running:
        holder = running.stranger.holder()
        assert running.stranger.create(NEW).status == 201
        eventually(lambda: b'"auditLines": 3' in data.with_name("data.checkpoint").read_bytes(), "remembered")
        # The server is not asked for new connections meanwhile; those that are open end with the old database.
        with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
            connection.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        _cut(postgres_server, name)
        renamed(postgres_server, name, f"{name}_today")
        renamed(postgres_server, backup, name)
        eventually(lambda: state_of(running) == "mismatch", "a mismatch")
        assert running.stranger.create(NEW).outcome == (503, "STORAGE_MISMATCH")
        assert holder.resolve().status == 404
        running.kill()
    ended = run("serve", "--port", "0", "--data-dir", data, *where)
    assert ended.returncode == 1
    assert "are not those that this service wrote" in ended.stderr
    assert "accept-rollback" in ended.stderr
    accepted = run("ledger", "accept-rollback", "--data-dir", data, *where, "--yes")
    assert accepted.returncode == 0, accepted.stderr
    with service(data, *where) as running:
        assert running.stranger.create(NEW).status == 201


def _cut(server: PostgresServer, name: str) -> None:
    with psycopg.connect(server.url(), autocommit=True) as killer:
        killer.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", (name,))
