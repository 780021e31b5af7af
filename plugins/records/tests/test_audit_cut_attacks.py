"""A thief uses the retention of the audit log as a cover: lines go without the cut, beyond it, or behind one that she made."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from plugins.records.tests.test_audit_tampering import states, verify
from tests.attack.thief import Database, identity, operator
from tests.fault.service_process import service
from tests.fault.turned_service import tell

DAYS = 10
PATIENCE_SECONDS = 60


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An installation that wrote for a while, stood still, and was started again when all of it was past its time."""
    folder = tmp_path_factory.mktemp("cut")
    clock, data = folder / "clock", Database(folder / "data", None)
    environment = {
        "IDENTITY_PLUGINS_MODULES": "tests.fault.turned_clock",
        "IDENTITY_TEST_CLOCK": str(clock),
        "IDENTITY_RETENTION_AUDIT_DAYS": "2",
    }
    tell(clock, f"{-timedelta(days=DAYS).total_seconds()} passed")
    with service(data.folder, environment=environment) as running:
        for _ in range(5):
            operator(running).holder()
    tell(clock, "0")
    with service(data.folder, environment=environment) as running:
        end = time.monotonic() + PATIENCE_SECONDS
        while data.sql("SELECT min(sequence) FROM audit_lines")[0][0] < 5:
            assert time.monotonic() < end, "nothing was cut"
            time.sleep(0.05)
        for _ in range(3):
            operator(running).holder()
        assert (states(running)["audit"], states(running)["storage"]) == ("ok", "ok")
    # Neither the service nor anybody who looks at the files takes the cut for a loss.
    with service(data.folder, environment=environment) as running:
        assert (states(running)["audit"], states(running)["storage"]) == ("ok", "ok")
    return data.folder


def copied(cut: Path, tmp_path: Path) -> Database:
    shutil.copytree(cut, tmp_path / "data")
    for beside in cut.parent.glob("data.*"):
        shutil.copy(beside, tmp_path)
    return Database(tmp_path / "data", None)


def first(database: Database) -> int:
    return int(database.sql("SELECT min(sequence) FROM audit_lines")[0][0])


def test_stored_lines_are_verified_with_keys_and_export(cut: Path, tmp_path: Path) -> None:
    database = copied(cut, tmp_path)
    code, said = verify(database)
    assert (code, json.loads(said)["unchecked"]) == (0, [])
    gone = json.loads(said)["cutThrough"]
    assert gone == first(database) - 1 >= 5
    exported = identity(database, "audit", "export").stdout.splitlines(keepends=True)
    for lines, expected in ((exported, 0), (exported[1:], 1), (exported[:1] + exported[2:], 1)):
        (tmp_path / "export").write_text("".join(lines))
        done = identity(database, "audit", "verify", "--file", str(tmp_path / "export"), "--json")
        assert done.returncode == expected, done.stdout + done.stderr
    findings = json.loads(identity(database, "doctor", "--json").stdout)["findings"]
    assert {one["check"] for one in findings if one["state"] == "fail"} & {"storage", "audit", "index"} == set()
    fsck = identity(database, "fsck", "--deep", "--json")
    assert "audit_lines" not in fsck.stdout, fsck.stdout


def test_head_from_before_cut_is_not_compared(cut: Path, tmp_path: Path) -> None:
    database = copied(cut, tmp_path)
    link = database.sql("SELECT cut_link FROM audit_head")[0][0].hex()
    gone = first(database) - 1
    for remembered, code, compared in (
        ({"sequence": gone, "link": link}, 0, True),
        ({"sequence": gone, "link": "00" * 32}, 1, None),
        ({"sequence": 2, "link": "00" * 32}, 0, False),
    ):
        (tmp_path / "head").write_text(json.dumps(remembered))
        done = identity(database, "audit", "verify", "--head", str(tmp_path / "head"), "--json")
        assert done.returncode == code, done.stdout + done.stderr
        if compared is not None:
            said = json.loads(done.stdout)
            assert (said["compared"], bool(said["unchecked"])) == (compared, not compared)


def delete_more(database: Database) -> None:
    database.sql("DELETE FROM audit_lines WHERE sequence = ?", first(database))


def take_the_cut_away(database: Database) -> None:
    database.sql("UPDATE audit_head SET cut_sequence = NULL, cut_link = NULL, cut_mac = NULL")


def cut_further(database: Database) -> None:
    """With the right hash, and the tag of the genuine cut."""
    sequence, link = database.sql("SELECT sequence, link FROM audit_lines ORDER BY sequence LIMIT 1")[0]
    database.sql("UPDATE audit_head SET cut_sequence = ?, cut_link = ?", sequence, link)
    database.sql("DELETE FROM audit_lines WHERE sequence = ?", sequence)


def hide_everything(database: Database) -> None:
    database.sql("UPDATE audit_head SET cut_sequence = ?", 2**40)


def another_hash(database: Database) -> None:
    database.sql("UPDATE audit_head SET cut_link = ?", bytes(32))


def another_first_line(database: Database) -> None:
    (line,) = database.sql("SELECT line FROM audit_lines ORDER BY sequence LIMIT 1")[0]
    changed = json.dumps(json.loads(line) | {"caller": "key:absent"}, separators=(",", ":")).encode()
    database.sql("UPDATE audit_lines SET line = ? WHERE sequence = ?", changed, first(database))


@pytest.mark.parametrize(
    "edit", [delete_more, take_the_cut_away, cut_further, hide_everything, another_hash, another_first_line]
)
def test_lines_that_went_without_the_cut_are_missed(
    cut: Path, tmp_path: Path, edit: Callable[[Database], None]
) -> None:
    database = copied(cut, tmp_path)
    edit(database)
    code, said = verify(database)
    assert code == 1, said
    assert "the audit log is not what was written" in said
    assert "audit_lines" in identity(database, "fsck", "--deep", "--json").stdout
