"""Sinks of events that raise, that are slow and that are killed at each line, on both databases: a change and its rows are one."""

from __future__ import annotations

import asyncio
import itertools
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from identity_records import audit
from identity_records import store as rows_of_records
from identity_records.audit import audit_of

from identity_core.database import Database, Transaction
from identity_core.domain.activity import EVERY_EVENT, SERVICE, DidChanged, Event, EventRecord, Parties, RequestContext
from identity_core.ports.activity import EventSink
from identity_core.store import Store, documents, events
from identity_core.store.events import SLOW_SECONDS, OpenSink
from tests.attack.stranger import rounds
from tests.did_use_cases import MovableClock
from tests.events import open_store
from tests.fault.killed_before_a_line import KilledBeforeALine
from tests.stored import new_stored_database, postgres_server
from tests.unit.store.test_documents import version

__all__ = ["new_stored_database", "postgres_server"]

STEP = max(1, 8 // rounds(1))
TABLES = ("did_versions", "audit_lines", "timeline", "sink_rows")
AT = MovableClock().now()
TRACED = {__file__, *(module.__file__ for module in (audit, rows_of_records, documents, events))}


class Sink:
    """Writes the target of each event into a table, and runs ``after`` then."""

    kinds = EVERY_EVENT

    def __init__(self, after: Callable[[Transaction, EventRecord], object]) -> None:
        self.after = after

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        for one in records:
            transaction.execute("INSERT INTO sink_rows (target) VALUES (:target)", {"target": one.event.target})
            self.after(transaction, one)


def raise_at(*targets: str) -> Callable[[Transaction, EventRecord], None]:
    def after(_: Transaction, record: EventRecord) -> None:
        if record.event.target in targets:
            raise LookupError("the sink has a fault")

    return after


def repeat_row(transaction: Transaction, record: EventRecord) -> None:
    transaction.execute("INSERT INTO sink_rows (target) VALUES (:target)", {"target": record.event.target})


def open_with_sink(folder: Path, url: str | None, sink: EventSink, *, is_vital: bool) -> tuple[Store, OpenSink]:
    """Return a store with an own table and the sink that writes it."""
    store = open_store(folder, url, processes=2)
    store.database.write_now(lambda to: to.execute("CREATE TABLE IF NOT EXISTS sink_rows (target TEXT PRIMARY KEY)"))
    store.activity.sinks.append(OpenSink("test", sink, is_vital=is_vital))
    return store, store.activity.sinks[-1]


async def change(store: Store, name: str) -> None:
    """Record the first version of a DID, with an event that all sinks write rows of."""
    event = DidChanged("did.created", f"did:ids:{name}", Parties(holder=f"did:ids:{name}"))
    made = version(name, 1, int(name))
    await store.documents.record([made], event=EventRecord(event, RequestContext("createDid", SERVICE), AT))
    await store.activity.write(
        [EventRecord(Event("did.seen", name, event.parties), RequestContext("see", SERVICE), AT)]
    )


def rows(database: Database) -> tuple[int, ...]:
    """Return how many rows each of the tables has."""
    count = "SELECT " + ", ".join(f"(SELECT count(*) FROM {table})" for table in TABLES)
    return tuple(database.read_now(lambda to: to.execute(count).fetchone()))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def url(request: pytest.FixtureRequest) -> str | None:
    """None for the embedded database, else that of a new one on a server."""
    return None if request.param == "sqlite" else request.getfixturevalue("new_stored_database")()


def test_vital_sink_that_raises_refuses_the_change(tmp_path: Path, url: str | None) -> None:
    async def story() -> None:
        store, _ = open_with_sink(tmp_path, url, Sink(raise_at("did:ids:3")), is_vital=True)
        await audit_of(store).key_from_here()
        done = await asyncio.gather(*(change(store, str(name)) for name in range(1, 7)), return_exceptions=True)
        assert [type(one) for one in done] == [type(None)] * 2 + [LookupError] + [type(None)] * 3
        # Of five changes the row of the version, two lines, one event of the timeline, and two of the sink.
        assert rows(store.database) == (5, 10, 5, 10)
        assert await store.documents.head("did:ids:3") is None
        assert await audit_of(store).is_whole()
        await store.close()

    asyncio.run(story())


@pytest.mark.parametrize("after", [raise_at("did:ids:3"), repeat_row])
def test_other_sink_that_raises_loses_its_row_alone(
    tmp_path: Path, url: str | None, caplog: pytest.LogCaptureFixture, after: Callable[[Transaction, EventRecord], None]
) -> None:
    async def story() -> None:
        store, sink = open_with_sink(tmp_path, url, Sink(after), is_vital=False)
        await audit_of(store).key_from_here()
        await asyncio.gather(*(change(store, str(name)) for name in range(1, 7)))
        lost = 12 if after is repeat_row else 1
        assert rows(store.database) == (6, 12, 6, 12 - lost)
        assert sink.lost == lost
        assert await audit_of(store).is_whole()
        await store.close()

    with caplog.at_level(logging.ERROR, "identity.events"):
        asyncio.run(story())
    told = [message for message in caplog.messages if " lost " in message]
    # The 1st, 2nd, 4th and 8th time.
    assert len(told) == (4 if after is repeat_row else 1)
    cause = "UniqueViolation" if url else "IntegrityError"
    assert (
        told[0]
        == f"the event sink of test lost DidChanged: {cause if after is repeat_row else 'LookupError'} (1 times)"
    )


def test_slow_sink_is_counted_and_loses_nothing(
    tmp_path: Path, url: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    def after(_: Transaction, record: EventRecord) -> None:
        time.sleep(2 * SLOW_SECONDS if record.event.target == "did:ids:1" else 0)

    async def story() -> None:
        store, sink = open_with_sink(tmp_path, url, Sink(after), is_vital=False)
        await asyncio.gather(*(change(store, str(name)) for name in range(1, 4)))
        assert rows(store.database) == (3, 6, 3, 6)
        assert sink.lost == 0
        assert sink.seconds > 2 * SLOW_SECONDS
        await store.close()

    with caplog.at_level(logging.ERROR, "identity.events"):
        asyncio.run(story())
    assert [message.partition(" for ")[0] for message in caplog.messages] == ["the event sink of test took 0.2 s"]


def test_statement_past_its_time_costs_its_row(tmp_path: Path, new_stored_database: Callable[[], str]) -> None:
    def after(transaction: Transaction, record: EventRecord) -> None:
        if record.event.target == "did:ids:1":
            transaction.execute("SET LOCAL statement_timeout = 50")
            transaction.execute("SELECT pg_sleep(60)")

    async def story() -> None:
        store, sink = open_with_sink(tmp_path, new_stored_database(), Sink(after), is_vital=False)
        await change(store, "1")
        assert rows(store.database) == (1, 2, 1, 1)
        assert sink.lost == 1
        await store.close()

    asyncio.run(story())


def test_repeated_transaction_counts_a_loss_once(tmp_path: Path, new_stored_database: Callable[[], str]) -> None:
    """PostgreSQL undoes a group for another process, and it runs again."""
    left = [2]
    event = Event("did.seen", "did:ids:1", Parties(holder="did:ids:1"))
    record = EventRecord(event, RequestContext("see", SERVICE), AT)

    async def story() -> None:
        store, sink = open_with_sink(tmp_path, new_stored_database(), Sink(raise_at("did:ids:1")), is_vital=False)

        def undone(transaction: Transaction) -> None:
            store.activity.insert(transaction, [record])
            if left[0]:
                left[0] -= 1
                transaction.execute("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")

        await store.database.write(undone)
        assert (left, store.database.load().repeated, sink.lost) == ([0], 2, 1)
        await store.activity.write([record, EventRecord(event, RequestContext("see", SERVICE), AT)])
        assert sink.lost == 2
        await store.close()

    asyncio.run(story())


@pytest.mark.parametrize("kinds", [frozenset[type[Event]](), frozenset[type[Event]]({DidChanged})])
def test_sink_gets_the_events_of_its_kinds(tmp_path: Path, kinds: frozenset[type[Event]]) -> None:
    seen = list[type[Event]]()

    async def story() -> None:
        sink = Sink(lambda _, record: seen.append(type(record.event)))
        sink.kinds = kinds
        store, _ = open_with_sink(tmp_path, None, sink, is_vital=True)
        await change(store, "1")
        await store.close()

    asyncio.run(story())
    assert seen == [*kinds]


def in_a_child(folder: Path, url: str | None, is_vital: bool, name: str, kill_at: int) -> bool:
    """Fork a process that makes a change and is killed before a line of the sinks. Return whether it came to its end."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        trace = KilledBeforeALine(TRACED, kill_at)

        async def story() -> None:
            store, _ = open_with_sink(folder, url, Sink(lambda *_: None), is_vital=is_vital)
            await change(store, name)
            sys.settrace(None)
            await store.close()

        try:
            # The writer of a server has a thread.
            threading.settrace(trace)
            sys.settrace(trace)
            asyncio.run(story())
            os.write(writing, b"end")
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        is_over = bool(pipe.read())
    os.waitpid(child, 0)
    return is_over


@pytest.mark.parametrize("is_vital", [True, False])
def test_killed_sink_leaves_all_rows_or_none(tmp_path: Path, url: str | None, is_vital: bool) -> None:
    async def begin() -> None:
        store, _ = open_with_sink(tmp_path, url, Sink(lambda *_: None), is_vital=True)
        await audit_of(store).key_from_here()
        await store.close()

    asyncio.run(begin())

    async def look() -> tuple[tuple[int, ...], bool]:
        store = open_store(tmp_path, url, processes=2)
        found = rows(store.database), await audit_of(store).is_whole()
        await store.close()
        return found

    before, found = asyncio.run(look())[0], set()
    for kill_at in itertools.count(1, STEP):
        if in_a_child(tmp_path, url, is_vital, str(kill_at), kill_at):
            break
        after, is_whole = asyncio.run(look())
        assert is_whole
        found.add(tuple(new - old for new, old in zip(after, before, strict=True)))
        before = after
    # The rows of the first event are in the transaction of the version, those of the second have one of their own.
    assert {(0, 0, 0, 0), (1, 1, 0, 1)} <= found <= {(0, 0, 0, 0), (1, 1, 0, 1), (1, 2, 1, 2)}
