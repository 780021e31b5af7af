"""``identity audit``: the chain over a local database, over an export, and against a head that was kept."""

from __future__ import annotations

import asyncio
import itertools
import json
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from identity_commands.local_server import LocalServer
from identity_records.audit import ChainedLine, ChainHead, next_link
from identity_records.chain import ChainBroken
from identity_records.commands import audit

from tests.events import AuditRow, open_store, write_rows
from tests.unit.cli.conftest import Commands

ROW = AuditRow(datetime(2026, 1, 1, tzinfo=UTC), "r", "createDid", "key:1", "0" * 12, "did:ids:a", "done", {})


@pytest.fixture
def lines(here: Path) -> Callable[[int], None]:
    """Writes so many lines into the data directory here."""

    def write(count: int) -> None:
        async def scenario() -> None:
            store = open_store(here / "identity-data")
            for _ in range(count):
                await write_rows(store, (ROW,))
            await store.close()

        (here / "identity-data").mkdir(exist_ok=True)
        asyncio.run(scenario())

    return write


def tamper(here: Path, *statements: str) -> None:
    with sqlite3.connect(here / "identity-data" / "identity.sqlite") as database:
        for statement in statements:
            database.execute(statement)
    database.close()


def test_a_good_log(identity: Commands, lines: Callable[[int], None]) -> None:
    lines(3)
    body = identity.json("audit", "verify")
    assert (body["valid"], body["lines"], body["compared"]) == (True, 3, False)
    assert identity.ok("audit", "verify").startswith("valid, 3 lines\nhead ")


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (("UPDATE audit_lines SET line = replace(line, 'done', 'dine') WHERE sequence = 2",), "line 2 does not follow"),
        (("DELETE FROM audit_lines WHERE sequence = 2",), "line 2 is missing"),
        (
            (
                "UPDATE audit_lines SET sequence = 20 WHERE sequence = 2",
                "UPDATE audit_lines SET sequence = 2 WHERE sequence = 3",
                "UPDATE audit_lines SET sequence = 3 WHERE sequence = 20",
            ),
            "line 2 says another number",
        ),
    ],
)
def test_a_log_that_was_changed(
    identity: Commands, here: Path, lines: Callable[[int], None], statements: tuple[str, ...], says: str
) -> None:
    lines(4)
    tamper(here, *statements)
    assert says in identity.refused("audit", "verify")[0]


def test_a_remembered_head(identity: Commands, here: Path, lines: Callable[[int], None]) -> None:
    head = here / "head.json"
    lines(2)
    assert identity.json("audit", "verify", "--head", head)["compared"] is False
    lines(2)
    assert identity.json("audit", "verify", "--head", head) == identity.json("audit", "verify", "--head", head)
    kept = head.read_text()
    assert json.loads(kept)["sequence"] == 4
    tamper(here, "DELETE FROM audit_lines WHERE sequence = 4")
    assert "cut off" in identity.refused("audit", "verify", "--head", head)[0]
    assert identity.json("audit", "verify")["lines"] == 3
    # A log that was written anew, head and all, is in itself in order.
    anew = "UPDATE audit_head SET sequence = NULL, link = NULL, keyed_from = NULL, mac = NULL"
    tamper(here, "DELETE FROM audit_lines", anew)
    lines(5)
    assert identity.json("audit", "verify")["lines"] == 5
    line = b'{"sequence":1,"another":1}'
    link = next_link(ChainHead().link, line)
    with sqlite3.connect(here / "identity-data" / "identity.sqlite") as database:
        database.execute("DELETE FROM audit_lines")
        database.execute("INSERT INTO audit_lines VALUES (1, ?, ?)", (line, link))
    database.close()
    lines(5)
    assert "written anew" in identity.refused("audit", "verify", "--head", head)[0]
    assert head.read_text() == kept


def test_an_export(identity: Commands, here: Path, lines: Callable[[int], None]) -> None:
    lines(3)
    copy = here / "audit.jsonl"
    identity.ok("audit", "export", "-o", copy)
    assert identity.json("audit", "verify", "--file", copy) == identity.json("audit", "verify")
    items = identity.json("audit", "export")
    assert [item["sequence"] for item in items] == [1, 2, 3]
    assert json.loads(items[0]["line"])["operation"] == "createDid"
    assert [json.loads(line)["sequence"] for line in identity.ok("audit", "export", "--after", "2").splitlines()] == [3]
    copy.write_text(copy.read_text().replace("did:ids:a", "did:ids:b", 1))
    assert "line 1 does not follow" in identity.refused("audit", "verify", "--file", copy)[0]
    copy.write_text("no JSON\n")
    assert "not one of an export" in identity.refused("audit", "verify", "--file", copy)[0]


def test_mistakes(identity: Commands, here: Path, lines: Callable[[int], None]) -> None:
    assert "no such data directory" in identity.refused("audit", "verify", status=2)[0]
    lines(1)
    (here / "head.json").write_text("[]")
    assert "not a head of an audit log" in identity.refused("audit", "verify", "--head", "head.json", status=2)[0]


def test_a_running_service(remote: Commands, server: LocalServer, wallet: Path) -> None:
    body = remote.json("audit", "verify", "--url", server.url)
    assert body["valid"] is True
    assert body["lines"] >= 1
    exported = remote.json("audit", "export", "--url", server.url)
    assert exported[-1]["sequence"] >= body["lines"]
    assert exported[body["lines"] - 1]["link"] == body["head"]
    assert "AUTH_REQUIRED" in Commands({}).refused("audit", "verify", "--url", server.url)[0]


NESTED = '{"sequence":1,"operation":' + "[" * 100_000
ITEMS = (
    {"sequence": 1, "line": 5, "link": "00" * 32},
    {"sequence": "1", "line": "{}", "link": "00" * 32},
    {"sequence": 1, "line": "{}", "link": 5},
    {"sequence": 1, "line": "{}", "link": "x"},
    {"sequence": 1, "line": "\ud800", "link": ""},
    {"sequence": 1},
    [],
    5,
    None,
)


@pytest.mark.parametrize("item", ITEMS)
def test_items_of_another_form_are_refused(identity: Commands, here: Path, item: Any) -> None:
    (here / "audit.jsonl").write_text(json.dumps(item) + "\n")
    assert (
        "line 1 of the file is not one of an export" in identity.refused("audit", "verify", "--file", "audit.jsonl")[0]
    )


def test_deeply_nested_line_is_refused(identity: Commands, here: Path) -> None:
    """A line that may tell of a cut is read."""
    line = NESTED.replace("1", "2", 1) + '"operation":"cutAuditLog"'
    items = [{"sequence": 2, "line": line, "link": next_link(bytes(32), line.encode()).hex()}]
    following = line.replace("2", "3", 1)
    link = next_link(bytes.fromhex(items[0]["link"]), following.encode()).hex()
    items.append({"sequence": 3, "line": following, "link": link})
    (here / "audit.jsonl").write_text("".join(json.dumps(item) + "\n" for item in items))
    assert "cut and does not say which" in identity.refused("audit", "verify", "--file", "audit.jsonl")[0]


def test_pages_that_do_not_advance_are_refused() -> None:
    """A service that repeats a page kept the export writing."""
    pages = audit._pages(lambda after: [ChainedLine(1, b"{}", bytes(32))], 0)
    with pytest.raises(ChainBroken, match="line 1 is behind line 1"):
        list(itertools.islice(pages, 10))
