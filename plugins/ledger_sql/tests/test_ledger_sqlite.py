"""The SQL ledger on its embedded database: the promises of the port, and its own chain."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import sqlite3
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import identity_ledger_sql
import pytest
from identity_kit.conformance.anchoring import AnchoringLedgerConformance
from identity_kit.conformance.ledger import LedgerConformance
from identity_kit.conformance.ledger_faults import LedgerFaultConformance
from identity_ledger_sql import SqlLedger, chain
from identity_ledger_sql.ledger import _RECORDED as RECORDED

from identity_core.database import DatabaseClosed, DatabaseOverloaded, DatabaseUnavailable, Transaction
from identity_core.errors import LedgerUnavailable, Overloaded, VersionConflict
from identity_core.ports.ledger import Receipt


class BackwardClock:
    """Every look is an hour before the last one."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)

    def now(self) -> datetime:
        self.time -= timedelta(hours=1)
        return self.time

    def monotonic(self) -> float:
        return 0.0


def open_ledger(folder: Path) -> SqlLedger:
    return SqlLedger.open(folder, None, clock=BackwardClock(), processes=2)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[SqlLedger]:
    opened = open_ledger(tmp_path)
    yield opened
    asyncio.run(opened.close())


@contextlib.contextmanager
def frozen_neighbour(folder: Path) -> Iterator[None]:
    """Another process stands still in the middle of a write."""
    with (folder / "ledger.sqlite.lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


class TestSqliteLedger(LedgerConformance, LedgerFaultConformance, AnchoringLedgerConformance):
    @pytest.fixture
    def ledger(self, tmp_path: Path) -> Iterator[SqlLedger]:
        opened = open_ledger(tmp_path)
        yield opened
        asyncio.run(opened.close())

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Callable[[], SqlLedger]:
        return lambda: open_ledger(tmp_path)

    @pytest.fixture
    def outage(self, tmp_path: Path) -> Callable[[], contextlib.AbstractContextManager[None]]:
        return lambda: frozen_neighbour(tmp_path)

    @pytest.fixture
    def tamper(self, tmp_path: Path) -> Callable[[int, bytes], None]:
        def forge(sequence: int, entry: bytes) -> None:
            with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as forger, forger:
                for (trigger,) in forger.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
                    forger.execute(f"DROP TRIGGER {trigger}")
                forger.execute("UPDATE ledger_entries SET entry = ? WHERE sequence = ?", (entry, sequence))

        return forge


async def fill(ledger: SqlLedger) -> None:
    for turn in range(3):
        await asyncio.gather(*(ledger.append(f"did:x:{n}", b"%d" % turn, expected_version=turn) for n in range(10)))


def rows(folder: Path) -> list[tuple]:
    return (
        sqlite3.connect(folder / "ledger.sqlite").execute("SELECT * FROM ledger_entries ORDER BY sequence").fetchall()
    )


def test_the_chain_can_be_recomputed_from_the_rows(ledger: SqlLedger, tmp_path: Path) -> None:
    asyncio.run(fill(ledger))
    previous = chain.GENESIS
    for sequence, did, version, entry, digest, block, at, link in rows(tmp_path):
        assert digest == chain.transaction_hash(did, version, entry)
        previous = chain.link(previous, sequence, block, at, digest)
        assert link == previous


def test_a_group_is_a_block(ledger: SqlLedger, tmp_path: Path) -> None:
    asyncio.run(fill(ledger))
    blocks = [row[5] for row in rows(tmp_path)]
    assert blocks == [1] * 10 + [2] * 10 + [3] * 10


def test_rows_cannot_be_changed_or_deleted_by_mistake(ledger: SqlLedger, tmp_path: Path) -> None:
    asyncio.run(fill(ledger))
    careless = sqlite3.connect(tmp_path / "ledger.sqlite")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        careless.execute("UPDATE ledger_entries SET entry = x'00' WHERE sequence = 3")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        careless.execute("DELETE FROM ledger_entries")


def test_anchors_cannot_be_changed_or_deleted_by_mistake(ledger: SqlLedger, tmp_path: Path) -> None:
    asyncio.run(ledger.submit_anchor(bytes(32), 1))
    careless = sqlite3.connect(tmp_path / "ledger.sqlite")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        careless.execute("UPDATE ledger_anchors SET size = 2")
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        careless.execute("DELETE FROM ledger_anchors")


def test_chain_of_anchors_can_be_recomputed_and_holds_entries(ledger: SqlLedger, tmp_path: Path) -> None:
    async def scenario() -> None:
        await ledger.submit_anchor(b"\1" * 32, 5)
        await ledger.append("did:x:1", b"entry", expected_version=0)
        await asyncio.gather(ledger.submit_anchor(b"\2" * 32, 7), ledger.revoke_leaf(b"\3" * 32))

    asyncio.run(scenario())
    found = sqlite3.connect(tmp_path / "ledger.sqlite").execute("SELECT * FROM ledger_anchors").fetchall()
    assert [(row[1], row[2][0], row[3], row[5]) for row in found] == [
        ("anchor", 1, 5, 1),
        ("anchor", 2, 7, 3),
        ("revocation", 3, 0, 3),
    ]
    ((*_, entry_link),) = rows(tmp_path)
    previous = chain.GENESIS
    for (position, kind, digest, size, transaction_hash, block, at, link), newest in zip(
        found, (chain.GENESIS, entry_link, entry_link), strict=True
    ):
        assert transaction_hash == chain.anchor_hash(kind, digest, size)
        previous = chain.anchor_link(previous, newest, position, block, at, transaction_hash)
        assert link == previous


def test_broken_database_is_unknown_outcome_with_hash(ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise DatabaseUnavailable("disk full")

    monkeypatch.setattr(ledger._database, "write", broken)
    with pytest.raises(LedgerUnavailable) as caught:
        asyncio.run(ledger.append("did:x:1", b"entry", expected_version=0))
    expected = chain.transaction_hash("did:x:1", 1, b"entry").hex()
    details = {"did": "did:x:1", "transactionHash": expected, "outcome": "unknown", "retryAfter": 1}
    assert caught.value.details == details
    assert (caught.value.status, caught.value.code) == (503, "PLUGIN_UNAVAILABLE")


def test_a_conflict_among_appends_that_come_together_is_its_own(ledger: SqlLedger) -> None:
    async def scenario() -> None:
        await ledger.append("did:x:0", b"first", expected_version=0)
        asked = [("did:x:1", 0), ("did:x:0", 1), ("did:x:1", 0), ("did:x:2", 0), ("did:x:0", 5)]
        ended = await asyncio.gather(
            *(ledger.append(did, b"entry", expected_version=version) for did, version in asked), return_exceptions=True
        )
        receipts = [one for one in ended if isinstance(one, Receipt)]
        assert [one.sequence for one in receipts] == [2, 3, 4]
        assert len({one.block_number for one in receipts}) == 1
        refused = {place: one.details for place, one in enumerate(ended) if isinstance(one, VersionConflict)}
        assert refused == {2: {"did": "did:x:1", "versionId": 1}, 4: {"did": "did:x:0", "versionId": 2}}
        assert (await ledger.examine("entries", 0, 10)).faults == ()

    asyncio.run(scenario())


def test_an_append_whose_commit_broke_is_looked_up_by_its_place(
    ledger: SqlLedger, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append counts if the very entry is there, and not if another process put an entry in its place."""
    writing = ledger._database.write

    async def breaks_after(job: Callable[[Transaction], object]) -> None:
        monkeypatch.setattr(ledger._database, "write", writing)
        await writing(job)
        raise DatabaseUnavailable("the connection broke")

    async def scenario() -> None:
        monkeypatch.setattr(ledger._database, "write", breaks_after)
        receipt = await ledger.append("did:x:1", b"ours", expected_version=0)
        (line,) = await ledger.entries("did:x:1")
        assert line.receipt == receipt
        monkeypatch.setattr(ledger._database, "write", lambda _: breaks_after(another))
        with pytest.raises(LedgerUnavailable) as caught:
            await ledger.append("did:x:1", b"ours again", expected_version=1)
        assert caught.value.details["outcome"] == "not recorded"
        assert [line.entry for line in await ledger.entries("did:x:1")] == [b"ours", b"another's"]

    def another(transaction: Transaction) -> object:
        digest = chain.transaction_hash("did:x:1", 2, b"another's")
        return ledger._append(transaction, [("did:x:1", b"another's", 2, digest)])

    asyncio.run(scenario())


def test_an_append_changes_one_index_at_random(ledger: SqlLedger, tmp_path: Path) -> None:
    """The more rows there are, the more a page costs that is found by a hash."""
    with contextlib.closing(sqlite3.connect(tmp_path / "ledger.sqlite")) as database:
        indexes = database.execute("PRAGMA index_list(ledger_entries)").fetchall()
        asked = {"did": "did:x:1", "version": 1, "transaction_hash": b""}
        (step,) = database.execute(f"EXPLAIN QUERY PLAN {RECORDED}", asked).fetchall()
    assert len(indexes) == 1
    assert step[3].endswith("(did=? AND version=?)")


async def refused_at_once(ledger: SqlLedger) -> str:
    """The outcome that an append is refused with, which may not wait for anything."""
    with pytest.raises(LedgerUnavailable) as caught:
        async with asyncio.timeout(0):
            await ledger.append("did:x:1", b"entry", expected_version=0)
    return caught.value.details["outcome"]


def test_a_closed_ledger_refuses_at_once(ledger: SqlLedger, tmp_path: Path) -> None:
    async def scenario() -> None:
        await ledger.close()
        assert await refused_at_once(ledger) == "not recorded"

    asyncio.run(scenario())
    assert rows(tmp_path) == []


def test_a_ledger_that_is_closed_meanwhile_is_not_asked_again(
    ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([DatabaseUnavailable("the connection broke"), DatabaseClosed("the database is closed")])

    def broken(*_: object, **__: object) -> None:
        raise next(answers)

    monkeypatch.setattr(ledger._database, "write", broken)
    assert asyncio.run(refused_at_once(ledger)) == "unknown"


def test_a_full_queue_is_overload(ledger: SqlLedger, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise DatabaseOverloaded("4096 writes are waiting")

    monkeypatch.setattr(ledger._database, "write", full)
    with pytest.raises(Overloaded):
        asyncio.run(ledger.append("did:x:1", b"entry", expected_version=0))


def test_the_length_of_the_did_is_part_of_the_hash() -> None:
    one = chain.transaction_hash("did:x:a", 1, b"")
    assert one != chain.transaction_hash("did:x:", 1, b"a")
    assert one.hex() == "ba384670189f4401754aaa0edd290dfce6ea62ad2e981c9e859674328d35b361"


def test_the_hook_hands_it_over() -> None:
    assert identity_ledger_sql.identity_provide_ledger_backend().name == "sql"
