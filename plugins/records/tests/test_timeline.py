"""The timeline in the store: whom a row concerns, in what order rows come, and what filters leave."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import psycopg
from identity_postgresql.session import translated_sql
from identity_records.queries import TimelineQuery
from identity_records.store import StoredTimeline, TimelineEntry

from identity_codec.values import replace
from identity_core.database import Cursor, Transaction
from identity_core.store import Store
from tests.events import write_rows

START = datetime(2026, 1, 1, tzinfo=UTC)
HANA, AKI, IVO, MALLORY = "did:ids:hana", "did:ids:aki", "did:ids:ivo", "did:ids:mallory"
ISSUED = TimelineEntry(
    START, "credential.issued", "done", f"did:{IVO}", holder=HANA, issuer=IVO, credential_id="urn:uuid:1"
)
PROVEN = TimelineEntry(
    START + timedelta(hours=1),
    "proof.generated",
    "done",
    f"did:{AKI}",
    holder=HANA,
    agent=AKI,
    issuer=IVO,
    delegation_id="d",
    credential_id="urn:uuid:1",
)
REFUSED = replace(
    PROVEN, at=START + timedelta(hours=2), kind="proof.refused", outcome="refused", code="PREDICATE_NOT_SATISFIED"
)
REVOKED = TimelineEntry(START + timedelta(hours=3), "delegation.revoked", "done", f"did:{HANA}", holder=HANA, agent=AKI)
ALL = (ISSUED, PROVEN, REFUSED, REVOKED)


def list_entries(store: Store, wish: TimelineQuery) -> list[TimelineEntry]:
    async def scenario() -> list[TimelineEntry]:
        for entry in ALL:
            await write_rows(store, (entry,))
        return [row.entry for row in await StoredTimeline(store.database).list(wish)]

    return asyncio.run(scenario())


def test_everything_newest_first(store: Store) -> None:
    assert list_entries(store, TimelineQuery(None)) == list(reversed(ALL))


def test_holder_and_agent_see_what_concerns_them(store: Store) -> None:
    assert list_entries(store, TimelineQuery(frozenset({HANA}))) == list(reversed(ALL))
    again = asyncio.run(StoredTimeline(store.database).list(TimelineQuery(frozenset({AKI}), limit=2)))
    assert [row.entry for row in again] == [REVOKED, REFUSED]


def test_an_issuer_learns_nothing_of_the_use_of_a_credential(store: Store) -> None:
    assert list_entries(store, TimelineQuery(frozenset({IVO}))) == [ISSUED]


def test_strangers_see_nothing(store: Store) -> None:
    assert list_entries(store, TimelineQuery(frozenset({MALLORY, "%", "' OR '1'='1"}))) == []
    assert asyncio.run(StoredTimeline(store.database).list(TimelineQuery(frozenset()))) == []


def test_a_row_that_concerns_two_of_the_dids_comes_once(store: Store) -> None:
    assert list_entries(store, TimelineQuery(frozenset({HANA, AKI, IVO}))) == list(reversed(ALL))


def test_kinds_and_times(store: Store) -> None:
    assert list_entries(store, TimelineQuery(None, kind="proof")) == [REFUSED, PROVEN]

    async def scenario() -> None:
        async def list_entries_of(wish: TimelineQuery) -> list[TimelineEntry]:
            return [row.entry for row in await StoredTimeline(store.database).list(wish)]

        assert await list_entries_of(TimelineQuery(None, kind="proof.refused")) == [REFUSED]
        assert await list_entries_of(TimelineQuery(None, kind="pro")) == []
        assert await list_entries_of(TimelineQuery(None, since=PROVEN.at)) == [REVOKED, REFUSED, PROVEN]
        assert await list_entries_of(TimelineQuery(None, until=PROVEN.at)) == [ISSUED]
        assert await list_entries_of(TimelineQuery(frozenset({AKI}), since=REFUSED.at, until=REVOKED.at)) == [REFUSED]

    asyncio.run(scenario())


def test_pages_join_without_gap_or_repetition(store: Store) -> None:
    async def scenario() -> None:
        for minute in range(25):
            # Several rows of one microsecond are told apart by their random.
            await write_rows(store, (replace(PROVEN, at=START + timedelta(minutes=minute // 5)),))
        seen: list[str] = []
        before: str | None = None
        while page := await StoredTimeline(store.database).list(
            TimelineQuery(frozenset({HANA}), before=before, limit=4)
        ):
            seen += [row.id for row in page]
            before = page[-1].id
        assert len(seen) == len(set(seen)) == 25
        assert seen == sorted(seen, reverse=True)

    asyncio.run(scenario())


# A page costs the same however many rows of other kinds there are

MANY = 4000
MOST_INSTRUCTIONS = 3_000  # of SQLite's machine; to read each row of the holder takes more than 30,000
OTHERS = 100  # rows that a server may read and throw away
KINDS = ("delegation.revoked", "delegation", "credential.issued", "credential", "anchor", "anchor.failed")
PAGES = [
    *(TimelineQuery(dids, kind) for dids in (None, *(frozenset({did}) for did in (HANA, AKI, IVO))) for kind in KINDS),
    TimelineQuery(frozenset({IVO})),
]


def test_a_page_of_one_kind_reads_no_row_of_another(store: Store, tmp_path: Path, url: str | None) -> None:
    """Thousands of proofs, and one older row of each other kind."""
    many = [replace(PROVEN, at=START + timedelta(days=1, seconds=number)) for number in range(MANY)]

    async def fill() -> None:
        await write_rows(store, (ISSUED, REVOKED, *many))

    asyncio.run(fill())
    if url is None:
        spent = {wish: instructions(tmp_path / "identity.sqlite", wish) for wish in PAGES}
    else:
        spent = {wish: removed(url, wish) for wish in PAGES}
    most = MOST_INSTRUCTIONS if url is None else OTHERS
    assert {wish: count for wish, count in spent.items() if count > most} == {}


class Direct:
    """A database whose reads are on a connection of the test's."""

    def __init__(self, transaction: Transaction) -> None:
        self._transaction = transaction

    async def read(self, job: Any) -> Any:
        return job(self._transaction)


def instructions(path: Path, wish: TimelineQuery) -> int:
    """Return the instructions of SQLite's machine for one page."""
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    with closing(sqlite3.connect(path)) as connection:
        connection.set_progress_handler(count, 1)
        asyncio.run(StoredTimeline(Direct(connection)).list(wish))  # type: ignore[arg-type]
    return counted


def removed(url: str, wish: TimelineQuery) -> int:
    """Rows that a server reads for one page and throws away."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ANALYZE timeline")
        explained = Explained(connection)
        asyncio.run(StoredTimeline(Direct(explained)).list(wish))  # type: ignore[arg-type]
    return explained.removed


class Explained:
    """A transaction of PostgreSQL that adds up the rows that its statements read in vain."""

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        self._connection = connection
        self.removed = 0

    def execute(self, sql: str, parameters: Mapping[str, object], /) -> Cursor:
        translated = translated_sql(sql)
        ((plan,),) = self._connection.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {translated}", parameters).fetchall()
        self.removed += sum(map(vain, plan))
        return self._connection.execute(translated, parameters)


def vain(plan: Any) -> int:
    if isinstance(plan, dict):
        own = plan.get("Rows Removed by Filter", 0) * plan.get("Actual Loops", 1)
        return own + sum(map(vain, plan.values()))
    return sum(map(vain, plan)) if isinstance(plan, list) else 0
