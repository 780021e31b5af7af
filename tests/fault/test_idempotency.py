"""A request with an ``Idempotency-Key`` is done exactly once, also where its process is killed before any line of the write path.

``IDENTITY_ROUNDS`` is how many kills there are on each database, spread evenly over the lines of all operations: from their number on
each line has one. Without it there are a few, in turn over the operations and at random lines.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.attack.stranger import public, rounds, signing_key
from tests.postgres_server import PostgresServer, postgres_server

__all__ = ["postgres_server"]

# What each operation adds to what there is.
EFFECTS: dict[str, dict[str, int]] = {
    "create": {"dids": 1, "entries": 1},
    "update": {"versions": 1, "entries": 1},
    "rotate": {"versions": 1, "entries": 1},
    "recover": {"versions": 1, "entries": 1},
    "rotateAtOnce": {"versions": 1, "entries": 1},
    "recoverAtOnce": {"versions": 1, "entries": 1},
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
ENDS_ITS_KEY = ("rotateAtOnce", "recoverAtOnce")
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
        """Return the results of a request that was killed before a line, counted from its start or the end of its change, and of its
        retries."""
        folder = self.folder / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.folder / "base", folder)
        url = self.new_database(self.template)
        return self.order({"do": "run", "folder": str(folder), "url": url, "act": act, "killAt": kill_at, "late": late})

    def lines(self, act: str) -> int:
        """How many traced lines the request has when no line ends it."""
        return int(self.run(act, 1_000_000_000, late=False)["first"]["lines"])

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(60)


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
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


def spread(count: int, lines: dict[str, int]) -> list[tuple[str, int, bool]]:
    """Return so many of all lines at equal distances, or all of them."""
    whole = [(act, line, False) for act, most in lines.items() for line in range(1, most + 1)]
    return [whole[number * len(whole) // count] for number in range(count)] if count < len(whole) else whole


def points(count: int) -> Iterator[tuple[str, int, bool]]:
    """Operations in turn, each before another line; three of four after the change and before the answer."""
    dice = random.Random(count)
    acts = list(EFFECTS)
    for number in range(count):
        is_late = number % 4 != 3
        yield (
            acts[(7 * number) % len(acts)],
            dice.randrange(1, LATE_LINES) if is_late else dice.randrange(150, LINES),
            is_late,
        )


def test_many_rounds_reach_every_line() -> None:
    lines = {"create": 3, "update": 2}
    whole = [
        ("create", 1, False),
        ("create", 2, False),
        ("create", 3, False),
        ("update", 1, False),
        ("update", 2, False),
    ]
    assert spread(5, lines) == spread(99, lines) == whole
    assert spread(2, lines) == [whole[0], whole[2]]


def check_run(killer: Killer, act: str, kill_at: int, *, late: bool) -> bool:
    """Check that the request was done once, and answered twice alike; return whether it was killed."""
    done = killer.run(act, kill_at, late=late)
    first, again = done["first"], done["again"]
    where = f"{act} before line {kill_at}, late: {late}: {done}"
    assert "failed" not in first, where
    assert "failed" not in again, where
    before, after = killer.built["count"], again["count"]
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == EFFECTS[act], where
    if act == "deactivate":
        # DELETE takes no key: a second one changes nothing, and says that it is done.
        assert again["statuses"] in ([200, 410], [410, 410]), where
        return not first
    assert again["statuses"][0] in (200, 201), where
    assert again["statuses"][0] == again["statuses"][1], where
    assert again["bodies"][0] == again["bodies"][1], where
    if first:
        assert first["body"] == again["bodies"][0], where
    if act == "create":
        keys, document = again["bodies"][0]["keys"], again["bodies"][0]["didDocument"]
        private = signing_key(keys["authentication"]["privateKey"])
        assert public(private) in json.dumps(document["authentication"]), where
    if act in ENDS_ITS_KEY:
        body = again["bodies"][0]
        made = body["newKey"] if act == "rotateAtOnce" else body["keys"]["recovery"]
        assert public(signing_key(made["privateKey"])) == made["publicKey"], where
    return not first


def test_killed_request_is_done_once_by_retry(killer: Killer) -> None:
    """DECISIONS.md §1.6: the same body gets the first answer, also after a kill between append and answer."""
    killed = 0
    every = os.environ.get("IDENTITY_ROUNDS") is not None
    for act, kill_at, is_late in spread(rounds(4), {act: killer.lines(act) for act in EFFECTS}) if every else points(4):
        killed += check_run(killer, act, kill_at, late=is_late)
    assert killed > 0, "no request was killed"


@pytest.mark.parametrize("act", [ENDS_ITS_KEY[0], pytest.param(ENDS_ITS_KEY[1], marks=pytest.mark.nightly)])
def test_killed_request_that_ended_its_key_is_done_once(killer: Killer, act: str) -> None:
    """The retry is signed by the key of the first attempt, which is not in force any more."""
    step = 20 if os.environ.get("IDENTITY_ROUNDS") else 60
    killed = [check_run(killer, act, kill_at, late=True) for kill_at in (1, *range(10, LATE_LINES, step))]
    assert any(killed), "no request was killed"
