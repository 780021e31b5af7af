"""Answers of a cold process, which contain stored bytes, against the fold of the ledger's entries, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import sqlite3
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from identity_codec.structs import encode
from identity_codec.times import printed_exactly
from identity_codec.values import replace
from identity_core.api import caching, dids
from identity_core.domain.dids import document, state
from identity_core.errors import (
    DidNotFound,
    DidQuarantined,
    LedgerUnavailable,
    Overloaded,
    PluginTimeout,
    PluginUnavailable,
)
from identity_core.ports.ledger import NewestEntry
from identity_core.ports.repositories import IndexedVersion
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.dids.read import Resolution, ResolveDid
from identity_core.wire import DeactivateDidRequest, ResolveDidQuery
from tests.did_use_cases import Rooms
from tests.stored import new_stored_database, postgres_server
from tests.unit.use_cases.test_versions_in_time import Play

__all__ = ["new_stored_database", "postgres_server"]

MEDIA = (caching.LD_JSON, caching.BARE, caching.W3C)


async def lives(rooms: Rooms, drawing: random.Random, count: int) -> list[Play]:
    """DIDs that lived through steps that were drawn; some have a key in grace, or one whose grace ended unwritten."""
    played = []
    for _ in range(count):
        play = Play(rooms)
        await play.begin()
        for _ in range(drawing.randrange(7)):
            rooms.clock.move(seconds=drawing.choice((0.0, 0.25, 1.0, 90.0)))
            step = drawing.choice(("rotate", "add_service", "add_service", "recover"))
            if step == "rotate":
                await play.rotate(drawing.choice((0, 60, 7200)))
            elif step == "recover":
                await play.recover(drawing.choice((True, False)))
            else:
                await play.add_service()
        rooms.clock.move(seconds=drawing.choice((0.0, 61.0)))
        played.append(play)
    return played


async def folded(rooms: Rooms, play: Play) -> list[IndexedVersion]:
    """All versions from the entries alone, their documents written from their fields, and those that exist by definition."""
    written = [
        replace(version, state=replace(version.state, document=replace(version.state.document)))
        for version in await rooms.check.folded(play.did)
    ]
    return [*written, *rooms.reader.find_due_versions(written[-1], rooms.clock.now())]


def answer(versions: list[IndexedVersion], number: int, media: str, query: ResolveDidQuery, now: datetime) -> bytes:
    """The expected bytes of a version."""
    head = versions[-1]
    resolution = Resolution(
        version=versions[number - 1],
        deactivated=False,
        deactivated_at=None,
        head_version_id=len(versions),
        following=versions[number] if number < len(versions) else None,
        stale_at=state.find_grace_end(head.state),
    )
    return answer_bytes(resolution, media, query, now)


def answer_bytes(resolution: Resolution, media: str, query: ResolveDidQuery, now: datetime) -> bytes:
    answer = caching.resolution(resolution, media, 0, query, now).answer
    assert isinstance(answer.body, bytes)
    return answer.body + repr(answer.headers).encode()


def selected(versions: list[IndexedVersion], second: datetime) -> int:
    """The number of the version that a walk over all of them finds in force, or 0."""
    found = 0
    for version in versions:
        if version.state.updated_at.replace(microsecond=0) <= second:
            found = version.state.version_id
    return found


async def check(cold: Rooms, rooms: Rooms, play: Play) -> int:
    """Compare the answers about a DID, and return their number."""
    compared = 0
    now, versions = rooms.clock.now(), await folded(rooms, play)
    queries = [(len(versions), ResolveDidQuery(version_id=None, version_time=None))]
    queries += [(n, ResolveDidQuery(version_id=n, version_time=None)) for n in range(1, len(versions) + 1)]
    times = [version.state.updated_at + timedelta(seconds=by) for version in versions for by in (-1, 0, 0.5, 1)]
    for time in times:
        query = ResolveDidQuery(version_id=None, version_time=printed_exactly(time))
        queries.append((selected(versions, time.replace(microsecond=0)), query))
    for number, query in queries:
        if number == 0:
            with pytest.raises(DidNotFound):
                await cold.resolve_query(play.did, query)
            continue
        found = await cold.resolve_query(play.did, query)
        for media in MEDIA:
            assert answer_bytes(found, media, query, now) == answer(versions, number, media, query, now)
            compared += 1
    for order, limit, after in itertools.product(("asc", "desc"), (1, 2, 200), (None, *range(1, len(versions) + 2))):
        page = await cold.history(play.did, after=after, limit=limit, descending=order == "desc")
        ordered = versions if order == "asc" else versions[::-1]
        items = [each for each in ordered if after is None or (each.state.version_id > after) == (order == "asc")]
        items = [each for each in items if each.state.version_id != after]
        last = items[:limit][-1].state.version_id if len(items) > limit else None
        expected = replace(page, items=tuple(items[:limit]), total=len(versions), after=last)
        compared += 1
        assert encode(dids.history_page(play.did, page, "", include_document=True).body) == encode(
            dids.history_page(play.did, expected, "", include_document=True).body
        )
    return compared


@pytest.mark.parametrize("dialect", ["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def test_answers_are_those_that_the_entries_give(tmp_path: Path, dialect: str, request: pytest.FixtureRequest) -> None:
    url = None if dialect == "sqlite" else request.getfixturevalue("new_stored_database")()

    async def story() -> None:
        rooms = Rooms(tmp_path, url=url)
        played = await lives(rooms, random.Random(18), 12)
        cold = Rooms(tmp_path, ledger=rooms.ledger, url=url)
        cold.clock.time = rooms.clock.time
        assert sum([await check(cold, rooms, play) for play in played]) > 500
        await cold.store.close()
        await rooms.close()

    asyncio.run(story())


def test_an_answer_is_made_without_reading_a_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = Play(rooms)
        await play.begin()
        rooms.clock.move(seconds=5)
        await play.add_service()
        cold = Rooms(tmp_path, ledger=rooms.ledger)
        cold.clock.time = rooms.clock.time

        def read(members: object) -> None:
            raise AssertionError(f"{members} was read")

        monkeypatch.setattr(document, "_fields", read)
        now = rooms.clock.now()
        for query in (
            ResolveDidQuery(version_id=None, version_time=None),
            ResolveDidQuery(version_id=1, version_time=None),
            ResolveDidQuery(version_id=None, version_time=printed_exactly(now - timedelta(seconds=1))),
        ):
            found = await cold.resolve_query(play.did, query)
            for media in MEDIA:
                assert b"publicKeyMultibase" in answer_bytes(found, media, query, now)
        page = await cold.history(play.did, after=None, limit=9, descending=False)
        assert len(page.items) == 2
        dids.history_page(play.did, page, "", include_document=True)
        with pytest.raises(AssertionError, match="was read"):
            _ = page.items[0].state.document.methods
        await cold.store.close()
        await rooms.close()

    asyncio.run(story())


def test_history_is_withheld_if_ledger_differs(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play, gone = Play(rooms), Play(rooms)
        for each in (play, gone):
            await each.begin()
            for _ in range(3):
                rooms.clock.move(seconds=5)
                await each.add_service()
        signed = await rooms.signed(gone.did, gone.secret, "deactivate")
        context = rooms.context(gone.did, signed)
        await rooms.deactivate(gone.did, DeactivateDidRequest(confirm=True), signed, context, if_match=None)

        async def read_history(did: Any, order: str, limit: int = 50, after: int | None = None) -> Any:
            found = await rooms.history(did, after=after, limit=limit, descending=order == "desc")
            return [item.state.version_id for item in found.items], found.total, found.after

        assert await read_history(gone.did, "asc") == ([1, 2, 3, 4, 5], 5, None)
        assert await read_history(gone.did, "desc", 2, 9_999_999_999) == ([5, 4], 5, 4)
        with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite", isolation_level=None)) as other:
            other.execute("DELETE FROM did_versions WHERE did = ? AND version_id = 2", (str(play.did),))
            for order in ("asc", "desc"):
                with pytest.raises(DidQuarantined):
                    await read_history(play.did, order)
            assert await read_history(play.did, "desc", 2) == ([4, 3], 4, 3)
            assert await read_history(play.did, "asc", 1) == ([1], 4, 1)
            with pytest.raises(DidQuarantined):
                await read_history(play.did, "asc", 2)
            # The rows before the newest have valid tags too. The ledger has more, so the index is brought up.
            other.execute("DELETE FROM did_versions WHERE did = ? AND version_id = 5", (str(gone.did),))
            assert await read_history(gone.did, "asc") == ([1, 2, 3, 4, 5], 5, None)
            other.execute(
                "UPDATE did_versions SET changes = x'5b5d' WHERE did = ? AND version_id = 3", (str(play.did),)
            )
        for order in ("asc", "desc"):
            with pytest.raises(DidQuarantined):
                await read_history(play.did, order)
        await rooms.close()

    asyncio.run(story())


class Waited:
    """A ledger that has to be waited for; ``asked`` counts, ``fault`` is raised."""

    def __init__(self, ledger: Any) -> None:
        self.ledger = ledger
        self.asked = 0
        self.fault: Exception | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self.ledger, name)

    async def newest(self, did: str) -> NewestEntry | None:
        self.asked += 1
        if self.fault is not None:
            raise self.fault
        found: NewestEntry | None = await self.ledger.newest(did)
        return found


def test_a_ledger_that_is_waited_for_is_asked_once_of_each_row(
    tmp_path: Path, new_stored_database: Callable[[], str]
) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path, url=new_stored_database())
        play, other = Play(rooms), Play(rooms)
        await play.begin()
        await other.begin()
        ledger: Any = Waited(rooms.ledger)
        documents = rooms.store.documents
        check = HeadCheck(rooms.methods, ledger, documents, rooms.store.quarantine)
        resolve = ResolveDid(DidReader(rooms.methods, documents, rooms.clock, check))

        async def version(of: Play, number: int | None = None) -> int:
            found = await resolve(of.did, ResolveDidQuery(version_id=number, version_time=None))
            return found.version.state.version_id

        assert [await version(play) for _ in range(3)] == [1, 1, 1]
        assert ledger.asked == 1
        # Written through another index, as another replica would.
        rooms.clock.move(seconds=5)
        await play.add_service()
        assert [await version(play), await version(play, 1), await version(play)] == [2, 1, 2]
        assert ledger.asked == 2
        # One that cannot be asked hides nothing of what the index has, as for every reader who decides nothing, and is asked again.
        ledger.fault = PluginTimeout(details={"plugin": "sql"})
        assert [await version(other), await version(play)] == [1, 2]
        assert ledger.asked == 3
        ledger.fault = None
        # A deleted row is written again from the ledger.
        await rooms.store.database.write(
            lambda tx: tx.execute("DELETE FROM did_versions WHERE version_id = 2").rowcount,
        )
        assert await version(play) == 2
        assert await version(other) == 1
        await rooms.close()

    asyncio.run(story())


@pytest.mark.parametrize("fault", [LedgerUnavailable, PluginTimeout, PluginUnavailable, Overloaded])
def test_no_decision_by_did_while_ledger_is_down(
    tmp_path: Path, new_stored_database: Callable[[], str], fault: type[Exception]
) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path, url=new_stored_database())
        play = Play(rooms)
        await play.begin()
        ledger: Any = Waited(rooms.ledger)
        check = HeadCheck(rooms.methods, ledger, rooms.store.documents, rooms.store.quarantine)
        for ledger.fault in (None, fault(), None):
            # Each time, though it was found good before: another replica may have rotated its keys since.
            with pytest.raises(PluginUnavailable) if ledger.fault else contextlib.nullcontext():
                await check.head(play.did, decides=True)
            told = await check.head(play.did, decides=False)
            assert told is not None
            assert told.state.version_id == 1
        await rooms.close()

    asyncio.run(story())


EDITS = (
    "UPDATE did_versions SET printed_second = 0",
    "UPDATE did_versions SET printed_second = 9999999999",
    "DELETE FROM did_versions",
)


def test_a_row_that_was_changed_leads_no_search_astray(tmp_path: Path) -> None:
    """A process that writes to the database past the service can stop the search by time, and cannot choose its result."""

    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = Play(rooms)
        await play.begin()
        for _ in range(6):
            rooms.clock.move(seconds=10)
            await play.add_service()
        versions = await folded(rooms, play)
        times = [version.state.updated_at + timedelta(seconds=5) for version in versions]
        withheld = 0
        for number in range(1, len(versions)):
            for edit in EDITS:
                with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite", isolation_level=None)) as other:
                    other.execute(
                        "CREATE TEMP TABLE kept AS SELECT * FROM did_versions WHERE version_id = ?", (number,)
                    )
                    other.execute(f"{edit} WHERE version_id = ?", (number,))
                    for time in times:
                        try:
                            found = await rooms.resolve(play.did, version_id=None, version_time=time)
                        except DidQuarantined:
                            withheld += 1
                            continue
                        state = found.version.state
                        assert state.version_id == selected(versions, time.replace(microsecond=0)), (number, edit, time)
                        assert state.document.encoded == versions[state.version_id - 1].state.document.encoded
                    other.execute("DELETE FROM did_versions WHERE version_id = ?", (number,))
                    other.execute("INSERT INTO did_versions SELECT * FROM kept")
        assert withheld > 0
        for number, time in enumerate(times, 1):
            found = await rooms.resolve(play.did, version_id=None, version_time=time)
            assert found.version.state.version_id == number
        await rooms.close()

    asyncio.run(story())
