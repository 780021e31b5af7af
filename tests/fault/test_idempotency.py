"""A request with an ``Idempotency-Key`` is done exactly once, also where its process is killed before any line of the write path, or where
the database does not take a part of it.

``IDENTITY_ROUNDS`` is how many kills there are on each database; without it a few, spread over operations and lines.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
import pytest

from identity_core.codec.times import printed
from tests.attack.stranger import PREFIX, Answer, Holder, public, rotation, rounds, service, signing_key
from tests.fault import service_process
from tests.fault.service_process import Running
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

# What each operation adds to what there is.
EFFECTS: dict[str, dict[str, int]] = {
    "create": {"dids": 1, "entries": 1},
    "update": {"versions": 1, "entries": 1},
    "rotate": {"versions": 1, "entries": 1},
    "recover": {"versions": 1, "entries": 1},
    "deactivate": {"versions": 1, "entries": 1},
    "issue": {"credentials": 1},
    "suspendCredential": {"credentialVersion": 1},
    "schema": {"schemas": 1},
    "delegate": {"delegations": 1},
    "suspendDelegation": {"delegationVersion": 1},
    "createKey": {"keys": 1},
    "rotateKey": {"keys": 1},
    "updateKey": {},
}
# Traced lines of the longest of them, and those between the change and the answer of the shortest.
LINES = 2_000
LATE_LINES = 90


@dataclass
class Killer:
    """The process that forks one for each request (``killed_requests.py``)."""

    folder: Path
    new_database: Callable[[str | None], str | None]
    process: subprocess.Popen[str] = field(init=False)
    template: str | None = None
    built: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        command = [sys.executable, "-m", "tests.fault.killed_requests"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.template = self.new_database(None)
        (self.folder / "base").mkdir()
        self.built = self.order({"do": "build", "folder": str(self.folder / "base"), "url": self.template})

    def order(self, order: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        return dict(json.loads(self.process.stdout.readline()))

    def run(self, act: str, kill_at: int, *, late: bool) -> dict[str, Any]:
        """What came of a request that was killed before a line, counted from its start or from the end of its change, and of its
        retries."""
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "base", folder)
        url = self.new_database(self.template)
        return self.order({"do": "run", "folder": str(folder), "url": url, "act": act, "killAt": kill_at, "late": late})

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


@pytest.fixture(params=["sqlite", "postgresql"])
def killer(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Killer]:
    if request.param == "sqlite":
        running = Killer(tmp_path, lambda _: None)
    else:
        server: PostgresServer = request.getfixturevalue("postgres_server")

        def new_database(template: str | None) -> str | None:
            name = "template1" if template is None else template.rpartition("/")[2].partition("?")[0]
            return server.new_database(name)

        running = Killer(tmp_path, new_database)
    try:
        yield running
    finally:
        running.close()


def points(count: int) -> Iterator[tuple[str, int, bool]]:
    """Operations in turn, each before another line; three of four after the change and before the answer."""
    dice = random.Random(count)
    acts = list(EFFECTS)
    for number in range(count):
        is_late = number % 4 != 3
        yield (
            acts[(5 * number) % len(acts)],
            dice.randrange(1, LATE_LINES) if is_late else dice.randrange(150, LINES),
            is_late,
        )


def test_killed_request_is_done_once_by_retry(killer: Killer) -> None:
    """DECISIONS.md §1.6: the same body gets the first answer, also after a kill between append and answer."""
    killed = 0
    for act, kill_at, is_late in points(rounds(4)):
        done = killer.run(act, kill_at, late=is_late)
        first, again = done["first"], done["again"]
        where = f"{act} before line {kill_at}, late: {is_late}: {done}"
        assert "failed" not in first, where
        assert "failed" not in again, where
        killed += not first
        before, after = killer.built["count"], again["count"]
        assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == EFFECTS[act], (
            where
        )
        if act == "deactivate":
            # DELETE takes no key: a second one changes nothing, and says that it is done.
            assert again["statuses"] in ([200, 410], [410, 410]), where
            continue
        assert again["statuses"][0] in (200, 201), where
        assert again["statuses"][0] == again["statuses"][1], where
        assert again["bodies"][0] == again["bodies"][1], where
        if first:
            assert first["body"] == again["bodies"][0], where
        if act == "create":
            keys, document = again["bodies"][0]["keys"], again["bodies"][0]["didDocument"]
            private = signing_key(keys["authentication"]["privateKey"])
            assert public(private) in json.dumps(document["authentication"]), where
    assert killed > 0, "no request was killed"


@contextmanager
def locked(url: str, *tables: str) -> Iterator[None]:
    """Other transactions read the tables and cannot write to them."""
    with psycopg.connect(url) as other:
        for table in tables:
            other.execute(f"LOCK TABLE {table} IN EXCLUSIVE MODE")
        yield


def keyed(running: Running, method: str, path: str, body: Any, key: str, authorization: str | None = None) -> Answer:
    named = {"X-API-Key": running.stranger.api_key} if authorization is None else {"Authorization": authorization}
    return running.wire.call(method, path, body, named | {"Idempotency-Key": key})


def changed(running: Running, holder: Holder, act: str, body: Any) -> Answer:
    """Each attempt is signed anew, because a challenge works once."""
    method = "PATCH" if act == "update" else "POST"
    return keyed(running, method, holder.path(act), body, f"key-of-{act}", holder.signed(act, body))


def versions(holder: Holder) -> int:
    return len(holder.wire.call("GET", f"{holder.path()}/history?limit=200").json["items"])


def test_locked_index_table_changes_nothing_twice(postgres_server: PostgresServer, tmp_path: Path) -> None:
    """The entry is on the ledger and the index cannot be written: 503, and the retry gets the answer of that change."""
    url = postgres_server.new_database()
    with service_process.service(tmp_path / "data", environment={"IDENTITY_DATABASE_URL": url}) as running:
        hana, ivan = (running.stranger.holder() for _ in range(2))
        body = {"method": "ids", "options": {"recoveryKey": True}}
        grace = rotation(ivan.key_id) | {"revokeOldAfter": printed(datetime.now(UTC) + timedelta(hours=12))}
        requests: dict[str, Callable[[], Answer]] = {
            "create": lambda: keyed(running, "POST", f"{PREFIX}/dids", body, "key-of-create"),
            "update": lambda: changed(running, hana, "update", service("locked")),
            "rotate": lambda: changed(running, ivan, "rotate", grace),
        }
        count = len(running.wire.call("GET", f"{PREFIX}/dids?limit=200", None, _admin(running)).json["items"])
        first: dict[str, Answer] = {}
        with locked(url, "did_versions"):
            threads = [
                threading.Thread(target=lambda name=name, ask=ask: first.update({name: ask()}))
                for name, ask in requests.items()
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join(120)
        assert {answer.status for answer in first.values()} == {503}
        again = {name: ask() for name, ask in requests.items()}
        assert [answer.status for answer in again.values()] == [201, 200, 200]
        assert {name: requests[name]().json for name in again} == {name: one.json for name, one in again.items()}
        assert [versions(holder) for holder in (hana, ivan)] == [2, 2]
        listed = running.wire.call("GET", f"{PREFIX}/dids?limit=200", None, _admin(running)).json["items"]
        assert len(listed) == count + 1


def _admin(running: Running) -> dict[str, str]:
    return {"X-API-Key": running.stranger.api_key}
