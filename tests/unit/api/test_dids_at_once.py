"""Which reads of DIDs are answered without a task, by an embedded database and ledger, and that they say what the handlers say."""

from __future__ import annotations

import asyncio
import contextlib
import re
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from identity_core.api.caching import AnswerCache
from identity_core.api.dids import DidHandlers
from identity_core.api.dids_at_once import DidsAtOnce
from identity_core.api.identifiers import IdentifierHandlers
from identity_core.api.quick import stepped
from identity_core.api.request import Answer, Request
from identity_core.codec.structs import encode
from identity_core.errors import DidNotFound, IdentityError, InvalidDid, InvalidRequest, PluginUnavailable
from identity_core.use_cases.dids.head_check import HeadCheck
from identity_core.use_cases.dids.read import GetDidLog, ListDidHistory, ResolveDid
from identity_core.use_cases.dids.stored import ListStoredHistory, ResolveStored, StoredHeads
from identity_core.use_cases.identifiers import ResolveIdentifier
from identity_core.wire import DeactivateDidRequest, ListDidHistoryQuery, ResolveDidQuery, ResolveIdentifierQuery
from tests.rooms import Rooms
from tests.unit.use_cases.test_versions_in_time import Play

QUERIES: dict[str, Any] = {
    "resolveDid": ResolveDidQuery(),
    "resolveIdentifier": ResolveIdentifierQuery(),
    "listDidHistory": ListDidHistoryQuery(),
    "getDidLog": None,
}
Handlers = dict[str, Callable[[Request], Awaitable[Answer]]]


def made(rooms: Rooms, *, visible: bool = True) -> tuple[DidsAtOnce, Handlers]:
    """What answers at once, and the handlers of the way of all requests, which remember nothing for each other."""

    def handlers() -> tuple[DidHandlers, IdentifierHandlers]:
        cache, resolve = AnswerCache(rooms.store.documents, rooms.clock), ResolveDid(rooms.reader)
        none: Any = None
        dids = DidHandlers(
            **dict.fromkeys(
                ("create", "update", "deactivate", "rotate", "recover", "approvals", "approve", "owned"), none
            ),
            reader=rooms.reader,
            resolve=resolve,
            history=ListDidHistory(rooms.reader, visible),
            log=GetDidLog(rooms.reader, rooms.ledger, visible),
            cache=cache,
        )
        return dids, IdentifierHandlers(ResolveIdentifier(resolve), none, none, none, none, none, cache, rooms.clock)

    heads = StoredHeads(rooms.methods, rooms.store.documents, rooms.check)
    once = DidsAtOnce(*handlers(), ResolveStored(heads), ListStoredHistory(heads, visible))
    dids, identifiers = handlers()
    return once, {
        "resolveDid": dids.resolve_did,
        "resolveIdentifier": identifiers.resolve_identifier,
        "listDidHistory": dids.list_did_history,
        "getDidLog": dids.get_did_log,
    }


def asking(name: str, did: str, query: Any = None) -> Request:
    path = {"identifier" if name == "resolveIdentifier" else "did": did}
    return Request(request_id="mine", path=path, query=QUERIES[name] if query is None else query)


async def said(handler: Callable[[Request], Awaitable[Answer]], request: Request) -> tuple[Any, ...]:
    """The answer, or the refusal."""
    try:
        answer = await handler(request)
    except IdentityError as error:
        return type(error), str(error), error.details
    body = answer.body if isinstance(answer.body, bytes) else encode(answer.body)
    # On a busy machine one of two takes milliseconds.
    body = re.sub(rb'"duration":[0-9]+', b"", body)
    return answer.status, body, answer.media_type, [tuple(each) for each in answer.headers]


def at_once(once: DidsAtOnce, name: str, request: Request) -> Answer | None:
    return stepped(once.operations()[name](request))


async def grown(rooms: Rooms, versions: int) -> Play:
    play = Play(rooms)
    await play.begin()
    for _ in range(1, versions):
        rooms.clock.move(seconds=2)
        await play.add_service()
    return play


async def left(rooms: Rooms, play: Play) -> None:
    signed = await rooms.signed(play.did, play.secret, "deactivate")
    context = rooms.context(play.did, signed)
    await rooms.deactivate(play.did, DeactivateDidRequest(confirm=True), signed, context, if_match=None)


def test_what_is_settled_is_said_at_once_as_the_handlers_say_it(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        active, gone, graced, expired = [await grown(rooms, versions) for versions in (3, 2, 1, 1)]
        await left(rooms, gone)
        await graced.rotate(7200)
        await expired.rotate(60)
        rooms.clock.move(seconds=90)
        for did in (*(str(play.did) for play in (active, gone, graced, expired)), f"{active.did}x", "did:ids:no", "no"):
            for visible in (True, False):
                once, handlers = made(rooms, visible=visible)
                for name in QUERIES:
                    if name == "getDidLog" and not visible:
                        assert at_once(once, name, asking(name, str(active.did))) is None
                        continue
                    # Waits for nothing, or it would be closed and give None.
                    quickly = await said(once.operations()[name], asking(name, did))
                    with contextlib.suppress(IdentityError):
                        assert at_once(once, name, asking(name, did)) is not None
                    assert quickly == await said(handlers[name], asking(name, did)), (did, name, visible)
        once, _ = made(rooms)
        for name in QUERIES:
            with pytest.raises(InvalidDid):
                at_once(once, name, asking(name, "did:ids:no"))
        await rooms.close()

    asyncio.run(story())


def test_what_nobody_knows_is_not_found_at_once(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = await grown(rooms, 1)
        unknown = str(play.did)[:-1] + ("a" if str(play.did)[-1] != "a" else "b")
        once, _ = made(rooms)
        for name in QUERIES:
            with pytest.raises(DidNotFound):
                at_once(once, name, asking(name, unknown))
        for query in (ResolveDidQuery(version_id=2), ResolveDidQuery(version_time="2020-01-01T00:00:00Z")):
            with pytest.raises(DidNotFound):
                at_once(once, "resolveDid", asking("resolveDid", str(play.did), query))
        both = ResolveDidQuery(version_id=1, version_time="2020-01-01T00:00:00Z")
        with pytest.raises(InvalidRequest):
            at_once(once, "resolveDid", asking("resolveDid", str(play.did), both))
        with pytest.raises(InvalidDid):
            at_once(once, "resolveDid", asking("resolveDid", "did:ids:no", both))
        await rooms.close()

    asyncio.run(story())


def test_what_is_behind_or_elsewhere_takes_the_other_way(tmp_path: Path) -> None:
    class Elsewhere:
        """A method that looks DIDs up over the network."""

        name = "far"

        def check(self, did: Any) -> None:
            """Any is one."""

        async def resolve(self, did: Any) -> None:
            raise AssertionError("it was looked for")

    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = await grown(rooms, 2)
        cold = Rooms(tmp_path, ledger=rooms.ledger)
        cold.methods["far"] = Elsewhere()  # type: ignore[assignment]
        once, _ = made(cold)
        with contextlib.closing(sqlite3.connect(tmp_path / "identity.sqlite", isolation_level=None)) as other:
            other.execute("DELETE FROM did_versions WHERE version_id = 2")
            for name in ("resolveDid", "resolveIdentifier", "listDidHistory"):
                for did in (str(play.did), "did:far:away", "did:none:known"):
                    assert at_once(once, name, asking(name, did)) is None, (name, did)
            assert other.execute("SELECT count(*) FROM did_versions").fetchone() == (1,)
        await cold.store.close()
        await rooms.close()

    asyncio.run(story())


def test_over_an_embedded_index_a_ledger_that_is_waited_for_leaves_reads_to_handlers_which_remember(
    tmp_path: Path,
) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        documents, none = rooms.store.documents, cast(Any, None)
        waited: Any = SimpleNamespace(newest=rooms.ledger.newest, is_embedded=False)
        check = HeadCheck(rooms.methods, waited, documents, rooms.store.quarantine)
        dids: Any = SimpleNamespace(reader=SimpleNamespace(index=documents, check=check))
        reads = DidsAtOnce(dids, none, none, none)
        assert (documents.is_embedded, check.is_embedded) == (True, False)
        assert (reads.operations(), reads.before_handlers()) == ({}, {})
        await rooms.close()

    asyncio.run(story())


def test_on_a_server_a_method_that_cannot_be_asked_costs_what_is_stored(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = await grown(rooms, 1)

        class Broken:
            name = "ids"

            def check(self, did: Any) -> None:
                raise PluginUnavailable

        rooms.store.documents.is_embedded = False
        once, _ = made(rooms)
        reads = once.before_handlers()
        assert set(reads) == {"resolveDid", "listDidHistory", "resolveIdentifier"}
        for name, read in reads.items():
            answer = await read(asking(name, str(play.did)))
            assert answer is not None, name
            assert answer.status == 200, name
        rooms.methods["ids"] = Broken()  # type: ignore[assignment]
        for name, read in reads.items():
            with pytest.raises(PluginUnavailable):
                await read(asking(name, str(play.did)))
        await rooms.close()

    asyncio.run(story())
