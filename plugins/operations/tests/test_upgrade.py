"""``identity upgrade``: what is missing is told and made, with a backup at hand; an installation of a newer version is left alone."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import sqlite3
import subprocess
import sys
import tarfile
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_operations.checks import database as doctor_database
from identity_operations.checks.tables import compare
from identity_operations.upgrade import apply as upgrade_module

from identity_core.database import look_at, migrations
from identity_core.database.files import FileLock
from identity_core.extension.declaration import Diagnosis
from identity_core.settings import load
from identity_core.store import Store
from identity_core.store import migrations as steps_of_store
from tests import servers
from tests.unit.cli.conftest import Commands
from tests.unit.store.earlier.make import ARCHIVE, COUNTS, rows_of

STEPS = "identity_core.store.migrations"
LAST = max(int(path.name[:4]) for path in Path(steps_of_store.__file__).parent.glob("*.sql"))


@pytest.fixture
def older(here: Path) -> Path:
    """The installation that is carried along: the store of step 13, the custodian of step 1."""
    folder = here / "data"
    folder.mkdir(mode=0o700)
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder


@pytest.fixture
def key(here: Path) -> Path:
    path = here / "safe" / "backup.key"
    path.parent.mkdir()
    path.write_bytes(os.urandom(32))
    path.chmod(0o600)
    return path


@pytest.fixture
def backup(here: Path, older: Path, key: Path, identity: Commands) -> Path:
    path = here / "backups" / "before"
    path.parent.mkdir()
    made = identity.json("backup", "create", path, "--key-file", key, "--data-dir", older)
    assert (made["schema"]["store_migrations"], made["schema"]["custodian_migrations"]) == (13, 1)
    return path


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.glob("*.sqlite")}


def rows(folder: Path) -> dict[str, int]:
    kept = json.loads(COUNTS.read_text())
    found = rows_of(folder)
    return {name: found[name] - kept[name] for name in kept if name != "store_migrations" and found[name] != kept[name]}


def audited(identity: Commands, folder: Path) -> list[dict[str, Any]]:
    lines = map(json.loads, identity.ok("audit", "export", "--data-dir", folder).splitlines())
    found = [json.loads(line["line"]) for line in lines]
    return [line for line in found if line["operation"] == "upgradeInstallation"]


def examined_at(folder: Path) -> list[Diagnosis]:
    """Return what the doctor finds wrong with the databases."""
    settings = load(environment={}, overrides={"data_dir": folder})
    return [one for one in doctor_database.storage(settings) if one.state != "ok"]


@pytest.mark.parametrize("how", [(), ("--deep",), ("--repair-index",)])
def test_fsck_of_an_older_installation_names_the_upgrade(identity: Commands, older: Path, how: tuple[str, ...]) -> None:
    result = identity("fsck", *how, "--data-dir", older)
    assert result.exit_code == 2, result.output
    assert "of an older version" in result.stderr
    assert "identity upgrade apply" in result.stderr
    identity.ok("upgrade", "apply", "--yes", "--data-dir", older)
    assert identity("fsck", *how, "--data-dir", older).exit_code != 2


def test_accept_rollback_leaves_an_older_installation_as_it_is(identity: Commands, older: Path) -> None:
    """Else the earlier version could not read what a backup has put back."""
    before = digests(older)
    lines = identity.refused("ledger", "accept-rollback", "--yes", "--data-dir", older)
    assert lines[0] == "error: the databases are of an earlier version"
    assert "`identity ledger accept-rollback` of that version" in lines[2]
    assert digests(older) == before


def test_an_older_installation_is_brought_up_with_its_backup(
    identity: Commands, older: Path, key: Path, backup: Path
) -> None:
    before = digests(older)
    pending = identity.json("upgrade", "check", "--data-dir", older)["pending"]
    assert [one.split(":")[0] for one in pending] == [
        "ledger_migrations",
        "custodian_migrations",
        "store",
    ]
    checked = servers.run("upgrade", "check", "--exit-code", "--data-dir", older)
    assert (checked.returncode, "ledger_migrations" in checked.stdout) == (3, True)
    assert digests(older) == before, "a check changes nothing"
    (found,) = examined_at(older)
    assert found.remedy == "make a backup, then `identity upgrade apply`; the next start does it as well"
    words = ("--backup", backup, "--key-file", key, "--data-dir", older)
    stale = identity.refused("upgrade", "apply", *words, "--within-hours", "0.0000001", status=2)
    assert "--within-hours" in stale[0], "none is so recent"
    made = identity.json("upgrade", "apply", *words)
    assert made["applied"] == pending
    assert examined_at(older) == [], "the remedy of the doctor was done"
    assert datetime.fromisoformat(made["backupOf"])
    look = look_at(None, older / "identity.sqlite")
    assert compare(look) == []
    look.end()
    assert rows(older) == {"audit_lines": 1}, "no row is lost, and the upgrade is in the audit log"
    (line,) = audited(identity, older)
    assert line["details"] == {"steps": pending, "backupOf": made["backupOf"]}
    assert identity.json("upgrade", "check", "--exit-code", "--data-dir", older)["pending"] == []
    # Again: nothing is done, and nothing is written.
    assert "nothing was to be done" in identity.ok("upgrade", "apply", *words)
    assert len(audited(identity, older)) == 1
    # The backup of before goes back under this version, too.
    back = older.parent / "back"
    identity.ok("backup", "restore", backup, "--key-file", key, "--data-dir", back, "--nothing-newer")
    assert identity.json("upgrade", "check", "--data-dir", back)["pending"] == []


def test_two_are_not_at_work_at_once(identity: Commands, older: Path) -> None:
    before, words = digests(older), ("upgrade", "apply", "--yes", "--data-dir", older)
    with closing(FileLock(older / "upgrade.lock")) as first:
        assert first.try_acquire()
        what, where, remedy = identity.refused(*words)
        assert "another `identity upgrade apply` is at work" in what
        assert str(older) in where
        assert "`identity upgrade check`" in remedy
        assert digests(older) == before
    assert identity.json("upgrade", "check", "--data-dir", older)["pending"] != []
    assert identity.json(*words)["applied"] != []
    assert len(audited(identity, older)) == 1


def test_it_wants_a_backup_or_a_word(identity: Commands, older: Path, key: Path, backup: Path) -> None:
    before = digests(older)
    for words in ((), ("--yes", "--backup", backup, "--key-file", key)):
        lines = identity.refused("upgrade", "apply", *words, "--data-dir", older, status=2)
        assert "--yes" in lines[2]
    lines = identity.refused("upgrade", "apply", "--backup", backup, "--data-dir", older, status=2)
    assert "--key-file" in lines[2]
    with backup.open("r+b") as file:
        file.seek(5000)
        file.write(b"\0" * 64)
    identity.refused("upgrade", "apply", "--backup", backup, "--key-file", key, "--data-dir", older)
    assert digests(older) == before


def test_the_backup_is_of_this_installation_and_recent(
    identity: Commands, server: LocalServer, older: Path, key: Path, backup: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_another = backup.with_name("another")
    identity.ok("backup", "create", of_another, "--key-file", key, "--data-dir", server.data_dir)
    before = digests(older)
    lines = identity.refused("upgrade", "apply", "--backup", of_another, "--key-file", key, "--data-dir", older)
    assert "another installation" in lines[0]
    moment = datetime.fromisoformat("2127-01-01T00:00:00+00:00")
    clock = type("Later", (), {"now": lambda self: moment})
    monkeypatch.setattr(upgrade_module, "SystemClock", clock)
    lines = identity.refused("upgrade", "apply", "--backup", backup, "--key-file", key, "--data-dir", older)
    assert "more than 24 hours ago" in lines[0]
    assert digests(older) == before


@pytest.mark.parametrize("name", ["identity", "ledger", "custodian", "keys"])
def test_newer_databases_are_left_alone(identity: Commands, older: Path, name: str) -> None:
    if name == "identity":
        asyncio.run(Store.open(older).close())
    table = {"identity": "store"}.get(name, name)
    with closing(sqlite3.connect(older / f"{name}.sqlite")) as connection, connection:
        connection.execute(f"INSERT INTO {table}_migrations VALUES (99, '0099_x.sql', 'x')")
    before = digests(older)
    for words in (("check",), ("apply", "--yes")):
        lines = identity.refused("upgrade", *words, "--data-dir", older)
        assert "newer version" in lines[0]
        assert "install the version" in lines[2]
    assert digests(older) == before


def test_a_copy_that_fails_leaves_the_installation_alone(identity: Commands, older: Path) -> None:
    """Steps are tried on a copy: where one does not run on what is stored, nothing was changed."""
    with closing(sqlite3.connect(older / "identity.sqlite")) as connection, connection:
        connection.execute("CREATE TABLE witness_files (x)")
    before = digests(older)
    identity.refused("upgrade", "apply", "--yes", "--data-dir", older)
    assert digests(older) == before
    assert not list(older.glob(".backup-*"))


@pytest.mark.parametrize("number", range(13, LAST))
def test_the_store_of_every_step_is_brought_up(older: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patched:
        every = migrations._steps
        patched.setattr(migrations, "_steps", lambda package, dialect: every(package, dialect)[:number])
        asyncio.run(Store.open(older).close())
    with closing(sqlite3.connect(older / "identity.sqlite")) as connection:
        assert connection.execute("SELECT max(number) FROM store_migrations").fetchone() == (number,)
    asyncio.run(Store.open(older).close())
    look = look_at(None, older / "identity.sqlite")
    assert compare(look) == []
    look.end()
    assert rows(older) == {}


def test_steps_only_add() -> None:
    """The version before continues while replicas are replaced. Steps to 12 are of before there was a version to continue. SQLite changes
    no
    key of a table: what is written anew there has its name again, and its columns (``tests/unit/store/test_schema.py``)."""
    written_anew = re.compile(r"\bDROP TABLE (\w+);\s+ALTER TABLE \1_by_sequence RENAME TO \1;")
    takes_away = re.compile(r"\b(DROP\s+(TABLE|COLUMN)|RENAME|ALTER\s+COLUMN|DELETE\s+FROM)\b", re.IGNORECASE)
    for path in Path(steps_of_store.__file__).parent.glob("*.sql"):
        if int(path.name[:4]) > 12:
            text = re.sub(r"^\s*--.*$", "", path.read_text(), flags=re.MULTILINE)
            if path.name.endswith(".sqlite.sql"):
                text = written_anew.sub("", text)
            assert takes_away.search(text) is None, path.name
            for added in re.findall(r"ADD COLUMN[^;]*;", text, re.IGNORECASE):
                assert "NOT NULL" not in added or "DEFAULT" in added, (path.name, added)


KILLED = """
import asyncio, json, os, shutil, sys
from pathlib import Path
import identity_core
from identity_operations.upgrade import steps
from identity_transparency.read_only import pending_steps
from identity_operations.upgrade.steps import bring_up
from identity_core.database.files import FileLock
from identity_core.settings import load
from tests.fault.killed_before_a_line import KilledBeforeALine
from tests.unit.store.earlier.make import rows_of

older, scratch, how_many = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
root = Path(identity_core.__file__).parent
traced = {steps.__file__, *(str(root / name) for name in ("database/migrations.py", "store/migrations/__init__.py"))}
settings = load(environment={}, overrides={"data_dir": scratch})

def run(kill_at):
    shutil.rmtree(scratch, ignore_errors=True)
    shutil.copytree(older, scratch)
    reading, writing = os.pipe()
    if not os.fork():
        trace = KilledBeforeALine(traced, kill_at)
        sys.settrace(trace)
        asyncio.run(bring_up(settings))
        sys.settrace(None)
        os.write(writing, str(trace.seen).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as said:
        lines = said.read()
    os.wait()
    return lines

# What each run would import is imported once.
shutil.copytree(older, scratch)
asyncio.run(bring_up(settings))
lines = int(run(None))
print(json.dumps({"lines": lines}))
for at in [*(1 + lines * place // how_many for place in range(how_many)), lines]:
    killed = run(at) == ""
    left = asyncio.run(pending_steps(settings))
    asyncio.run(bring_up(settings))
    then = asyncio.run(pending_steps(settings))
    print(json.dumps({"killed": killed, "left": len(left), "then": then, "rows": rows_of(scratch)}))
"""


def test_killed_upgrade_runs_again(older: Path, tmp_path: Path) -> None:
    rounds = int(os.environ.get("IDENTITY_ROUNDS", "8"))
    words = [sys.executable, "-c", KILLED, str(older), str(tmp_path / "scratch"), str(rounds)]
    root = Path(__file__).parents[3]
    told = subprocess.run(words, capture_output=True, text=True, cwd=root, check=False, timeout=300)
    assert told.returncode == 0, told.stderr
    head, *runs = map(json.loads, told.stdout.splitlines())
    assert head["lines"] > 100
    expected = {name: count for name, count in json.loads(COUNTS.read_text()).items() if name != "store_migrations"}
    for one in runs:
        assert one["killed"]
        assert one["then"] == []
        assert {name: one["rows"][name] for name in expected} == expected, one
    assert {one["left"] for one in runs} == {0, 1, 2, 3}, "some are killed before a database, some between, some after"
