"""A thief edits the audit log, whose chain needs no key: its end is checked with the head that only the service's keys can make."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from tests.attack.thief import Database, identity, operator
from tests.fault.service_process import API_KEY, Running
from tests.fault.service_process import service as running_service
from tests.postgres_server import postgres_server

__all__ = ["postgres_server"]

TAG = b"identity audit line v1\n"


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Database:
    url = request.getfixturevalue("postgres_server").new_database() if request.param == "postgresql" else None
    return Database(tmp_path / "data", url)


def verify(database: Database) -> tuple[int, str]:
    done = identity(database, "audit", "verify", "--json")
    return done.returncode, done.stdout + done.stderr


def states(running: Running) -> dict[str, str]:
    found: dict[str, str] = running.wire.call("GET", "/ready", None, {"X-API-Key": API_KEY}).json["dependencies"]
    return found


def cut(database: Database, lines: int) -> None:
    last = database.sql("SELECT max(sequence) FROM audit_lines")[0][0]
    database.sql("DELETE FROM audit_lines WHERE sequence > ?", last - lines)


def write_anew(database: Database) -> None:
    """Another caller in the last line but two, and a chain that leads on from it without a fault."""
    rows = database.sql("SELECT sequence, line FROM audit_lines ORDER BY sequence")
    previous = bytes(32)
    for sequence, line in rows:
        text = bytes(line)
        if sequence == rows[-3][0]:
            text = json.dumps(json.loads(text) | {"caller": "key:absent"}, separators=(",", ":")).encode()
        previous = hashlib.sha256(TAG + previous + text).digest()
        database.sql("UPDATE audit_lines SET line = ?, link = ? WHERE sequence = ?", text, previous, sequence)


def take_the_head_away(database: Database) -> None:
    cut(database, 3)
    database.sql("UPDATE audit_head SET sequence = NULL, link = NULL, keyed_from = NULL, mac = NULL")


def make_a_head_up(database: Database) -> None:
    cut(database, 3)
    sequence, link = database.sql("SELECT sequence, link FROM audit_lines ORDER BY sequence DESC LIMIT 1")[0]
    database.sql("UPDATE audit_head SET sequence = ?, link = ?, keyed_from = 1", sequence, bytes(link))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        (lambda database: cut(database, 3), "its end was cut off"),
        (write_anew, "written anew"),
        (take_the_head_away, "its head is not one that the keys"),
        (make_a_head_up, "its head is not one that the keys"),
    ],
    ids=["cut", "write_anew", "take_the_head_away", "make_a_head_up"],
)
def test_complete_tampering_is_reported_permanently(database: Database, edit: object, says: str) -> None:
    environment = database.environment
    with running_service(database.folder, environment=environment) as running:
        for _ in range(5):
            operator(running).holder()
        assert states(running)["audit"] == "ok"
    code, said = verify(database)
    assert code == 0
    assert json.loads(said)["unchecked"] == []
    assert json.loads(said)["keyedFrom"] == 1
    edit(database)  # type: ignore[operator]
    code, said = verify(database)
    assert (code, says in said) == (1, True), said
    with running_service(database.folder, environment=environment) as running:
        assert states(running)["audit"] == "degraded"
        operator(running).holder()
        assert verify(database)[0] == 1
