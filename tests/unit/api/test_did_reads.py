"""Refusals of the reads of a DID, by their handlers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from identity_universal.identifier_handlers import IdentifierHandlers
from identity_universal.identifiers import Identifiers
from identity_universal.wire import ResolveIdentifierQuery

from identity_core.api.caching import AnswerCache
from identity_core.api.dids import DidHandlers
from identity_core.api.request import Answer, Request
from identity_core.errors import DidNotFound, InvalidDid, InvalidRequest, PluginUnavailable
from identity_core.use_cases.dids.read import GetDidLog, ListDidHistory, ResolveDid
from identity_core.wire import ListDidHistoryQuery, ResolveDidQuery
from tests.did_use_cases import Rooms
from tests.unit.use_cases.test_versions_in_time import Play

QUERIES: dict[str, Any] = {
    "resolveDid": ResolveDidQuery(),
    "resolveIdentifier": ResolveIdentifierQuery(),
    "listDidHistory": ListDidHistoryQuery(),
    "getDidLog": None,
}
Handlers = dict[str, Callable[[Request], Awaitable[Answer]]]


def handlers_of(rooms: Rooms) -> Handlers:
    cache, resolve = AnswerCache(rooms.store.documents, rooms.clock), ResolveDid(rooms.reader)
    none: Any = None
    others = ("create", "update", "deactivate", "rotate", "recover", "owned")
    dids = DidHandlers(
        **dict.fromkeys(others, none),
        reader=rooms.reader,
        resolve=resolve,
        history=ListDidHistory(rooms.reader, True),
        log=GetDidLog(rooms.reader, rooms.ledger, True),
        cache=cache,
    )
    identifiers = IdentifierHandlers(Identifiers(resolve, rooms.methods), cache, rooms.clock)
    return {
        "resolveDid": dids.resolve_did,
        "resolveIdentifier": identifiers.resolve_identifier,
        "listDidHistory": dids.list_did_history,
        "getDidLog": dids.get_did_log,
    }


def request_for(name: str, did: str, query: Any = None) -> Request:
    path = {"identifier" if name == "resolveIdentifier" else "did": did}
    return Request(request_id="mine", path=path, query=QUERIES[name] if query is None else query)


async def grown(rooms: Rooms, versions: int) -> Play:
    play = Play(rooms)
    await play.begin()
    for _ in range(1, versions):
        rooms.clock.move(seconds=2)
        await play.add_service()
    return play


def test_unknown_dids_and_invalid_queries_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = await grown(rooms, 1)
        unknown = str(play.did)[:-1] + ("a" if str(play.did)[-1] != "a" else "b")
        handlers = handlers_of(rooms)
        for name in QUERIES:
            with pytest.raises(DidNotFound):
                await handlers[name](request_for(name, unknown))
            with pytest.raises(InvalidDid):
                await handlers[name](request_for(name, "did:ids:no"))
        for query in (ResolveDidQuery(version_id=2), ResolveDidQuery(version_time="2020-01-01T00:00:00Z")):
            with pytest.raises(DidNotFound):
                await handlers["resolveDid"](request_for("resolveDid", str(play.did), query))
        both = ResolveDidQuery(version_id=1, version_time="2020-01-01T00:00:00Z")
        with pytest.raises(InvalidRequest):
            await handlers["resolveDid"](request_for("resolveDid", str(play.did), both))
        await rooms.close()

    asyncio.run(story())


def test_an_unavailable_method_is_called_once(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = await grown(rooms, 1)
        calls = []

        class Broken:
            name = "ids"

            def check(self, did: Any) -> None:
                calls.append(did)
                raise PluginUnavailable

        rooms.methods["ids"] = Broken()  # type: ignore[assignment]
        handlers = handlers_of(rooms)
        for name in QUERIES:
            with pytest.raises(PluginUnavailable):
                await handlers[name](request_for(name, str(play.did)))
        assert len(calls) == len(QUERIES)
        await rooms.close()

    asyncio.run(story())
