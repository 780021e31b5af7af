"""The document index on both databases."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from identity_records.audit import audit_of

from identity_codec.values import replace
from identity_core.cache import BoundedCache
from identity_core.database import DatabaseError, Transaction
from identity_core.database.sqlite import SqliteDatabase
from identity_core.domain.dids.did import Did
from identity_core.domain.dids.document import DidDocument, ServiceEntry, VerificationMethod
from identity_core.domain.dids.state import DidState, SpentChallenge
from identity_core.errors import PluginUnavailable
from identity_core.ports.ledger import Receipt
from identity_core.ports.repositories import IndexedVersion
from identity_core.store import Store
from identity_core.store.documents import Documents
from identity_core.store.index_rows import AT
from tests.events import AuditRow, audit_rows, event_of, open_store

START = datetime(2026, 1, 2, 3, 4, 5, 250_000, tzinfo=UTC)
KEY = "z6MkhaXgBZDvotDkL5257faiztiGiC2QtKLGpbnnEGta2doK"

LINE = AuditRow(START, "req_1", "updateDid", "key:1", None, "did:ids:a", "done", {"versionId": 2})


def version(name: str, number: int, sequence: int, *, at: datetime | None = None) -> IndexedVersion:
    did = Did.parse(f"did:ids:{name}")
    key_id = f"{did}#{KEY}"
    document = DidDocument(
        did.text,
        (
            VerificationMethod(
                key_id, "Ed25519VerificationKey2020", KEY, START.replace(microsecond=0) + timedelta(days=number)
            ),
        ),
        (("authentication", (key_id,)), ("assertionMethod", (key_id,))),
        (ServiceEntry(f"{did}#s", "LinkedDomains", f"https://example.com/{number}"),),
        ("https://example.com/ü",),
    )
    moment = at or START + timedelta(seconds=number)
    state = DidState(
        did=did,
        version_id=number,
        created_at=START,
        updated_at=moment,
        operation="create" if number == 1 else "update",
        entry_hash=f"Qm{number}",
        previous_hash=None if number == 1 else f"Qm{number - 1}",
        document=document,
        recovery_key=KEY,
        update_keys=(KEY,),
        key_id=None if number == 1 else key_id,
        spent_challenges=(SpentChallenge("abc", START + timedelta(minutes=5)),),
    )
    receipt = Receipt(f"{sequence:064x}", (sequence + 1) // 2, sequence, moment + timedelta(microseconds=7))
    return IndexedVersion(state, receipt, (f"keyAdded #{KEY}", "ü"))


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_recorded_document_is_found(store: Store) -> None:
    async def scenario() -> None:
        index = store.documents
        first, second = version("a", 1, 1), version("a", 2, 2)
        assert await index.head("did:ids:a") is None
        await index.record([first])
        assert await index.head("did:ids:a") == first
        await index.record([second])
        assert await index.head("did:ids:a") == second
        assert await index.version("did:ids:a", 1) == first
        assert await index.version("did:ids:a", 3) is None
        assert await index.version("did:ids:b", 1) is None

    run(scenario())


def test_heads_are_right_in_a_fresh_store_too(store: Store, tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        await store.documents.record([version("a", n, n) for n in range(1, 40)])
        fresh = open_store(tmp_path, url)
        assert await fresh.documents.head("did:ids:a") == version("a", 39, 39)
        await fresh.close()

    run(scenario())


def test_a_version_that_is_recorded_twice_is_there_once(store: Store) -> None:
    async def scenario() -> None:
        for _ in range(2):
            await store.documents.record([version("a", 1, 1), version("a", 2, 2)], owner="key:1")
        assert len(await store.documents.versions("did:ids:a", after=0, limit=10, descending=False)) == 2
        assert await store.documents.cursor() == 2

    run(scenario())


def test_a_version_without_a_receipt_is_refused(store: Store) -> None:
    async def scenario() -> None:
        with pytest.raises(ValueError, match="never recorded"):
            await store.documents.record([replace(version("a", 1, 1), receipt=None)])

    run(scenario())


def test_version_at_compares_printed_seconds(store: Store) -> None:
    async def scenario() -> None:
        at = [START, START + timedelta(microseconds=9), START + timedelta(seconds=1), START + timedelta(seconds=10)]
        await store.documents.record([version("a", n + 1, n + 1, at=time) for n, time in enumerate(at)])
        second = START.replace(microsecond=0)

        async def find_version(offset: int, newest: int = 4) -> int:
            return await store.documents.version_at("did:ids:a", second + timedelta(seconds=offset), newest=newest)

        assert [await find_version(offset) for offset in (-1, 0, 1, 2, 9, 10, 99)] == [0, 2, 3, 3, 3, 4, 4]
        assert [await find_version(99, newest) for newest in range(4)] == [0, 1, 2, 3]

    run(scenario())


def test_versions_are_paged_both_ways(store: Store) -> None:
    async def scenario() -> None:
        await store.documents.record([version("a", n, n) for n in range(1, 8)])
        await store.documents.record([version("b", 1, 8)])

        async def page(after: int, limit: int, descending: bool) -> list[int]:
            found = await store.documents.versions("did:ids:a", after=after, limit=limit, descending=descending)
            return [each.state.version_id for each in found]

        assert await page(0, 3, False) == [1, 2, 3]
        assert await page(3, 3, False) == [4, 5, 6]
        assert await page(6, 3, False) == [7]
        assert await page(7, 3, False) == []
        assert await page(0, 3, True) == [7, 6, 5]
        assert await page(5, 3, True) == [4, 3, 2]
        assert await page(2, 3, True) == [1]
        assert await page(1, 3, True) == []

    run(scenario())


def test_a_repair_that_was_faster_takes_no_owner_away(store: Store) -> None:
    async def scenario() -> None:
        await store.documents.record([version("a", 1, 1)])
        await store.documents.record([version("a", 1, 1)], owner="key:1")
        await store.documents.record([version("a", 1, 1)], owner="key:2")
        found = await store.documents.owned("key:1", after=None, limit=10)
        assert [one.state.did.text for one in found] == ["did:ids:a"]
        assert await store.documents.owned("key:2", after=None, limit=10) == []

    run(scenario())


def test_owned_lists_heads_by_did(store: Store) -> None:
    async def scenario() -> None:
        for n, name in enumerate("bDac"):
            await store.documents.record([version(name, 1, n + 1)], owner="key:1" if name != "c" else "key:2")
        await store.documents.record([version("a", 2, 5)], owner="key:2")

        async def owned(owner: str | None, after: str | None, limit: int) -> list[tuple[str, int]]:
            found = await store.documents.owned(owner, after=after, limit=limit)
            return [(each.state.did.identifier, each.state.version_id) for each in found]

        assert await owned("key:1", None, 10) == [("D", 1), ("a", 2), ("b", 1)]
        assert await owned("key:1", None, 2) == [("D", 1), ("a", 2)]
        assert await owned("key:1", "did:ids:a", 2) == [("b", 1)]
        assert await owned("key:2", None, 2) == [("c", 1)]
        assert await owned("key:3", None, 2) == []
        assert await owned(None, None, 10) == [("D", 1), ("a", 2), ("b", 1), ("c", 1)]
        assert await owned(None, "did:ids:D", 2) == [("a", 2), ("b", 1)]

    run(scenario())


def test_events_are_in_ledger_order(store: Store) -> None:
    async def scenario() -> None:
        await store.documents.record([version("b", 1, 2), version("a", 1, 1), version("a", 2, 3)])
        found = await store.documents.events(after=0, limit=2)
        assert [(each.state.did.identifier, each.state.version_id) for each in found] == [("a", 1), ("b", 1)]
        assert [each.receipt for each in await store.documents.events(after=2, limit=9)] == [version("a", 2, 3).receipt]

    run(scenario())


def test_the_cursor_stops_at_the_first_gap(store: Store, tmp_path: Path, url: str | None) -> None:
    async def scenario() -> None:
        index = store.documents
        assert await index.cursor() == 0
        await index.record([version("a", 1, 1), version("b", 1, 2), version("d", 1, 4)])
        assert await index.cursor() == 2
        await index.record([version("c", 1, 3)])
        assert await index.cursor() == 4
        await index.record([version("z", 1, 1007)])
        assert await index.cursor() == 4
        await index.record([version(f"x{n}", 1, n) for n in range(5, 1007)])
        assert await index.cursor() == 1007
        fresh = open_store(tmp_path, url)
        assert await fresh.documents.cursor() == 1007
        await fresh.close()

    run(scenario())


def test_an_index_that_misses_the_beginning_has_cursor_zero(store: Store) -> None:
    async def scenario() -> None:
        await store.documents.record([version("b", 1, 2)])
        assert await store.documents.cursor() == 0

    run(scenario())


def test_a_caller_that_is_cancelled_takes_no_row_with_it(store: Store) -> None:
    async def scenario() -> None:
        await store.documents.record([version("a", 1, 1)])
        assert await store.documents.head("did:ids:a") == version("a", 1, 1)
        recording = asyncio.ensure_future(store.documents.record([version("a", 2, 2)], event=event_of(LINE)))
        await asyncio.sleep(0)
        recording.cancel()
        with pytest.raises(asyncio.CancelledError):
            await recording
        await store.documents.record([version("b", 1, 3)])
        assert await store.documents.head("did:ids:a") == version("a", 2, 2)
        assert await audit_rows(audit_of(store), after=0, limit=9) == [(1, LINE)]

    run(scenario())


def test_version_and_audit_line_are_one_transaction(store: Store) -> None:
    async def scenario() -> None:
        before = store.database.load().jobs
        await store.documents.record([version("a", 1, 1)], event=event_of(LINE))
        assert store.database.load().jobs == before + 1
        assert await audit_rows(audit_of(store), after=0, limit=9) == [(1, LINE)]
        await store.database.write(lambda writing: writing.execute("ALTER TABLE audit_lines RENAME TO gone"))
        with pytest.raises(DatabaseError):
            await store.documents.record([version("b", 1, 2)], event=event_of(LINE))
        assert await store.documents.head("did:ids:b") is None
        await store.database.write(lambda writing: writing.execute("ALTER TABLE gone RENAME TO audit_lines"))

    run(scenario())


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
def test_a_version_at_a_time_is_searched_by_its_number(store: Store) -> None:
    """There is no index on times: every step of the search is a look-up by the primary key."""

    def plan(transaction: Transaction) -> list[str]:
        asked = {"did": "did:ids:a", "second": 0, "newest": 9}
        return [row[3] for row in transaction.execute(f"EXPLAIN QUERY PLAN {AT['sqlite']}", asked).fetchall()]

    steps = [step for step in store.database.read_now(plan) if "did_versions" in step]
    assert len(steps) == 1
    assert steps[0].endswith("(did=? AND version_id=?)")


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_search_by_time_looks_one_row_up_for_each_step_on_server(store: Store) -> None:
    async def scenario() -> None:
        await store.documents.record([version("a", number, number) for number in range(1, 65)])
        await store.database.write(lambda tx: tx.execute("ANALYZE did_versions").rowcount)
        asked = {"did": "did:ids:a", "second": int((START + timedelta(seconds=40)).timestamp()), "newest": 64}
        found = await store.database.look_up(f"EXPLAIN (ANALYZE, COSTS OFF) {AT['postgresql']}", asked)
        (condition,) = [row[0] for row in found if "Index Cond" in row[0]]
        assert "did = " in condition
        assert "version_id = " in condition
        assert await store.documents.version_at("did:ids:a", START + timedelta(seconds=40), newest=64) == 40

    run(scenario())


@pytest.mark.parametrize("url", ["sqlite"], indirect=True)
class TestGeneration:
    """What may be known without asking the database."""

    def test_it_follows_own_writes(self, store: Store) -> None:
        async def scenario() -> None:
            assert store.documents.generation("did:ids:a") is None
            await store.documents.record([version("a", 1, 1)])
            assert store.documents.generation("did:ids:a") == 1
            await store.documents.record([version("a", 2, 2)])
            assert store.documents.generation("did:ids:a") == 2
            # Recorded late by a projection that runs beside it.
            await store.documents.record([version("a", 1, 1)])
            assert store.documents.generation("did:ids:a") == 2

        run(scenario())

    def test_another_process_makes_it_unknown(self, store: Store, tmp_path: Path) -> None:
        async def scenario() -> None:
            await store.documents.record([version("a", 1, 1)])
            other = open_store(tmp_path)
            await other.documents.record([version("a", 2, 2)])
            assert store.documents.generation("did:ids:a") is None
            assert await store.documents.head("did:ids:a") == version("a", 2, 2)
            assert store.documents.generation("did:ids:a") == 2
            await other.close()

        run(scenario())

    def test_a_did_that_is_not_known_costs_one_statement(self, store: Store) -> None:
        async def scenario() -> None:
            database = store.database
            assert isinstance(database, SqliteDatabase)
            statements: list[str] = []
            for connection in (database._reader, database._writer):
                connection.set_trace_callback(statements.append)
            assert await store.documents.head("did:ids:a") is None
            assert store.documents.generation("did:ids:a") is None
            assert len(statements) == 1, statements

        run(scenario())

    def test_one_look_asks_once_and_ends(self, store: Store, tmp_path: Path) -> None:
        async def scenario() -> None:
            documents, database = store.documents, store.database
            assert isinstance(database, SqliteDatabase)
            await documents.record([version("a", 1, 1), version("b", 1, 2)])
            other = open_store(tmp_path)
            statements: list[str] = []
            for connection in (database._reader, database._writer):
                connection.set_trace_callback(statements.append)
            with documents.one_look():
                assert await documents.head("did:ids:a") == version("a", 1, 1)
                await other.documents.record([version("b", 2, 3), version("a", 2, 4)])
                assert await documents.head("did:ids:b") == version("b", 1, 2)
                assert len(statements) == 1, statements
                # What another task finds out in between counts.
                assert await asyncio.create_task(head_of_another(documents, "did:ids:a")) == version("a", 2, 4)
                assert await documents.head("did:ids:b") == version("b", 2, 3)
            await other.documents.record([version("b", 3, 5)])
            assert await documents.head("did:ids:b") == version("b", 3, 5)
            await other.close()

        async def head_of_another(documents: Documents, did: str) -> IndexedVersion | None:
            with documents.one_look():
                return await documents.head(did)

        run(scenario())

    def test_a_failed_write_teaches_nothing(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        async def scenario() -> None:
            await store.documents.record([version("a", 1, 1)])
            monkeypatch.setattr(store.database, "_commit", _break)
            with pytest.raises(PluginUnavailable, match="database"):
                await store.documents.record([version("a", 2, 2)])
            assert store.documents.generation("did:ids:a") == 1

        run(scenario())

    def test_it_forgets_the_oldest(self, store: Store) -> None:
        async def scenario() -> None:
            store.documents._heads = BoundedCache(3)
            for n in range(5):
                await store.documents.record([version(f"d{n}", 1, n + 1)])
            assert [store.documents.generation(f"did:ids:d{n}") for n in range(5)] == [None, None, 1, 1, 1]

        run(scenario())


def _break() -> None:
    error = sqlite3.OperationalError("disk I/O error")
    error.sqlite_errorcode = sqlite3.SQLITE_IOERR
    raise error


@pytest.mark.parametrize("url", ["postgresql"], indirect=True)
def test_on_a_server_nothing_is_known_without_asking(store: Store) -> None:
    async def scenario() -> None:
        await store.documents.record([version("a", 1, 1)])
        assert store.documents.generation("did:ids:a") is None

    run(scenario())
