"""What a cold process answers from the bytes of the index, against what the fold of the ledger's entries gives, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import random
import sqlite3
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import orjson
import pytest

from identity_codec.structs import encode
from identity_codec.times import printed_exactly
from identity_codec.values import replace
from identity_core.api import caching, dids
from identity_core.api.stored_answers import stored_history, stored_resolution
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
from identity_core.use_cases.dids.read import Resolution, ResolveDid
from identity_core.use_cases.dids.stored import ListStoredHistory, ResolveStored, StoredHeads
from identity_core.wire import DeactivateDidRequest, ListDidHistoryQuery, ResolveDidQuery
from tests.did_use_cases import Rooms
from tests.stored import new_stored_database, postgres_server
from tests.unit.use_cases.test_versions_in_time import Play

__all__ = ["new_stored_database", "postgres_server"]

MEDIA = (caching.LD_JSON, caching.BARE, caching.W3C)


def heads_of(rooms: Rooms) -> StoredHeads:
    return StoredHeads(rooms.methods, rooms.store.documents, rooms.check)


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


def answer_bytes(resolution: Resolution[IndexedVersion], media: str, query: ResolveDidQuery, now: datetime) -> bytes:
    answer = caching.resolution(stored_resolution(resolution), media, 0, query, now).answer
    assert isinstance(answer.body, bytes)
    return answer.body + repr(answer.headers).encode()


def selected(versions: list[IndexedVersion], second: datetime) -> int:
    """The number of the version that a walk over all of them finds in force, or 0."""
    found = 0
    for version in versions:
        if version.state.updated_at.replace(microsecond=0) <= second:
            found = version.state.version_id
    return found


async def cosigned(leaf: int) -> tuple[int, datetime] | None:
    """Every other entry is cosigned."""
    return (leaf + 9, datetime(2026, 11, 23, 12, tzinfo=UTC)) if leaf % 2 else None


async def compare_stored(cold: Rooms, play: Play, head: IndexedVersion, query: ResolveDidQuery, now: datetime) -> int:
    """The answers of ``ResolveStored`` are those of ``ResolveDid``, in every media type; how many there were."""
    compared = 0
    for asked in (None, cosigned):
        stored = ResolveStored(heads_of(cold), asked)
        quickly = await stored(str(play.did), query)
        if b"revoked" in head.state.document.encoded:
            assert quickly is None
            continue
        assert quickly is not None
        found = stored_resolution(await ResolveDid(cold.reader, asked)(play.did, query))
        for media in caching.SHAPES:
            one, other = [caching.resolution(each, media, 7, query, now) for each in (quickly[1], found)]
            assert [one.answer.body, one.answer.encoded_headers()] == [
                *(other.answer.body, other.answer.encoded_headers()),
            ]
            assert one.answer.not_modified.encoded_headers() == other.answer.not_modified.encoded_headers()
            for name in ("version_id", "etag", "stale_at", "awaits"):
                assert getattr(one, name) == getattr(other, name)
            compared += 1
    return compared


async def compare_history(cold: Rooms, play: Play, head: IndexedVersion, total: int) -> int:
    """The same of ``ListStoredHistory`` and ``ListDidHistory``, for every page."""
    compared, stored = 0, ListStoredHistory(heads_of(cold), visible_after_deactivation=True)
    is_graced = b"revoked" in head.state.document.encoded
    for order, limit, after in itertools.product(("asc", "desc"), (1, 2, 3, 50), (None, *range(1, total + 3))):
        query = ListDidHistoryQuery(limit=limit, order=order, cursor=None, include_document=limit != 2)
        quickly = await stored(str(play.did), query, after=after)
        page = await cold.history(play.did, after=after, limit=limit, descending=order == "desc")
        if quickly is None:
            assert is_graced or page.items == ()
            continue
        assert not is_graced
        one, other = [
            dids.history_page(play.did, each, include_document=query.include_document)
            for each in (quickly, stored_history(page))
        ]
        assert (encode(one.body), one.headers) == (encode(other.body), other.headers)
        compared += 1
    return compared


async def check(cold: Rooms, rooms: Rooms, play: Play) -> int:
    compared = 0
    now, versions = rooms.clock.now(), await folded(rooms, play)
    written = [version for version in versions if version.receipt is not None][-1]
    compared += await compare_history(cold, play, written, len(versions))
    queries = [(len(versions), ResolveDidQuery(version_id=None, version_time=None))]
    queries += [(n, ResolveDidQuery(version_id=n, version_time=None)) for n in range(1, len(versions) + 1)]
    times = [version.state.updated_at + timedelta(seconds=by) for version in versions for by in (-1, 0, 0.5, 1)]
    for time in times:
        query = ResolveDidQuery(version_id=None, version_time=printed_exactly(time))
        queries.append((selected(versions, time.replace(microsecond=0)), query))
    for number, query in queries:
        if number == 0:
            assert await ResolveStored(heads_of(cold))(str(play.did), query) is None
            with pytest.raises(DidNotFound):
                await cold.resolve_query(play.did, query)
            continue
        recorded = [version for version in versions if version.receipt is not None][-1]
        compared += await compare_stored(cold, play, recorded, query, now)
        found = await cold.resolve_query(play.did, query)
        for media in MEDIA:
            assert answer_bytes(found, media, query, now) == answer(versions, number, media, query, now)
    for order in ("asc", "desc"):
        page = await cold.history(play.did, after=None, limit=200, descending=order == "desc")
        items = versions if order == "asc" else versions[::-1]
        expected = replace(page, items=tuple(items), total=len(versions), after=None)
        assert encode(dids.history_page(play.did, stored_history(page), include_document=True).body) == encode(
            dids.history_page(play.did, stored_history(expected), include_document=True).body
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
        dids.history_page(play.did, stored_history(page), include_document=True)
        with pytest.raises(AssertionError, match="was read"):
            _ = page.items[0].state.document.methods
        await cold.store.close()
        await rooms.close()

    asyncio.run(story())


def test_missing_entries_are_not_answered_from_store(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play, gone, foreign = Play(rooms), Play(rooms), Play(rooms)
        for each in (play, gone, foreign):
            await each.begin()
            rooms.clock.move(seconds=5)
            await each.add_service()
        signed = await rooms.signed(gone.did, gone.secret, "deactivate")
        context = rooms.context(gone.did, signed)
        await rooms.deactivate(gone.did, DeactivateDidRequest(confirm=True), signed, context, if_match=None)
        stored = ResolveStored(heads_of(rooms))
        now = ResolveDidQuery(version_id=None, version_time=None)
        assert await stored(str(gone.did), now) is None
        assert await stored("did:ids:unknown", now) is None
        assert await ResolveStored(StoredHeads((), rooms.store.documents, rooms.check))(str(play.did), now) is None
        for number in (0, 3, 2**70, -1):
            assert await stored(str(play.did), ResolveDidQuery(version_id=number, version_time=None)) is None
        with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite", isolation_level=None)) as other:
            # A row that was taken away: the one before it has our tag, and is not the newest on the ledger.
            other.execute("DELETE FROM did_versions WHERE did = ? AND version_id = 2", (str(play.did),))
            assert await stored(str(play.did), now) is None
            # One that is in the middle of those that were asked for.
            other.execute("DELETE FROM did_versions WHERE did = ? AND version_id = 1", (str(foreign.did),))
            assert await stored(str(foreign.did), ResolveDidQuery(version_id=1, version_time=None)) is None
            assert await stored(str(foreign.did), now) is not None
            other.execute("UPDATE did_versions SET document = x'7b7d' WHERE did = ?", (str(foreign.did),))
        with pytest.raises(DidQuarantined):
            await stored(str(foreign.did), now)
        await rooms.close()

    asyncio.run(story())


def test_cached_version_is_valid_until_write(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = Play(rooms)
        await play.begin()
        await play.add_service()
        stored, did = ResolveStored(heads_of(rooms)), str(play.did)

        async def head(version_id: int | None = None) -> Any:
            found = await stored(did, ResolveDidQuery(version_id=version_id, version_time=None))
            assert found is not None
            return found[0]

        first = await head()
        assert await head() is not first
        stored.heads.keep(did, first)
        assert await head() is await head(1) is first
        await play.add_service()
        assert (await head()).version_id == 3
        stored.heads.keep(did, third := await head(2))
        assert await head() is third
        with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite", isolation_level=None)) as other:
            # Another process writes to the database, for another DID.
            other.execute("UPDATE did_versions SET document = x'7b7d' WHERE did = ?", (did,))
        with pytest.raises(DidQuarantined):
            await head()
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
        shown, hidden = (ListStoredHistory(heads_of(rooms), visible) for visible in (True, False))

        async def read_history(
            did: Any, order: Any, limit: int = 50, after: int | None = None, history: Any = shown
        ) -> Any:
            query = ListDidHistoryQuery(limit=limit, order=order, cursor=None, include_document=False)
            found = await history(str(did), query, after=after)
            return None if found is None else ([item.version_id for item in found.items], found.total, found.after)

        assert await read_history(gone.did, "asc") == ([1, 2, 3, 4, 5], 5, None)
        assert await read_history(gone.did, "desc", 2, 9_999_999_999) == ([5, 4], 5, 4)
        assert (
            await read_history(gone.did, "asc", history=hidden) is await read_history("did:ids:unknown", "asc") is None
        )
        with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite", isolation_level=None)) as other:
            other.execute("DELETE FROM did_versions WHERE did = ? AND version_id = 2", (str(play.did),))
            assert await read_history(play.did, "asc") is await read_history(play.did, "desc") is None
            assert await read_history(play.did, "desc", 2) == ([4, 3], 4, 3)
            assert await read_history(play.did, "asc", 1) == ([1], 4, 1)
            assert await read_history(play.did, "asc", 2) is None
            # Those before the newest have our tags too, and the ledger has more.
            other.execute("DELETE FROM did_versions WHERE did = ? AND version_id = 5", (str(gone.did),))
            for order in ("asc", "desc"):
                for limit in (2, 50):
                    assert await read_history(gone.did, order, limit) is None
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

    is_embedded = False

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
        stored = ResolveStored(StoredHeads(rooms.methods, documents, check))

        async def version(of: Play, number: int | None = None) -> int | None:
            found = await stored(str(of.did), ResolveDidQuery(version_id=number, version_time=None))
            return None if found is None else found[1].version.version_id

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
        # A row that was taken away: the one before it was the newest once, and is not any more.
        await rooms.store.database.write(
            lambda tx: tx.execute("DELETE FROM did_versions WHERE version_id = 2").rowcount,
        )
        assert await version(play) is None
        assert [await version(other), ledger.asked] == [1, 5]
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


def test_changes_are_stored_as_they_are_answered() -> None:
    for first in range(0, 0x3000, 64):
        text = "".join(map(chr, range(first, first + 64)))
        assert orjson.dumps([text, f"keyAdded #{text}"]) == encode((text, f"keyAdded #{text}"))


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
        stored = ResolveStored(heads_of(rooms))
        for number in range(1, len(versions)):
            for edit in EDITS:
                with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite", isolation_level=None)) as other:
                    other.execute(
                        "CREATE TEMP TABLE kept AS SELECT * FROM did_versions WHERE version_id = ?", (number,)
                    )
                    other.execute(f"{edit} WHERE version_id = ?", (number,))
                    for time in times:
                        with contextlib.suppress(DidQuarantined):
                            query = ResolveDidQuery(version_id=None, version_time=printed_exactly(time))
                            quickly = await stored(str(play.did), query)
                            wanted = versions[selected(versions, time.replace(microsecond=0)) - 1].state
                            assert quickly is None or quickly[1].version.document == wanted.document.encoded
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
