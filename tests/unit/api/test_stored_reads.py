"""Reads from stored bytes answer as the use cases do, which decode documents."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from identity_universal.identifier_handlers import IdentifierHandlers
from identity_universal.identifiers import Identifiers
from identity_universal.wire import ResolveIdentifierQuery

from identity_codec.structs import encode
from identity_core.api.caching import AnswerCache
from identity_core.api.dids import DidHandlers
from identity_core.api.request import Answer, Request
from identity_core.api.stored_answers import StoredReads
from identity_core.database import DatabaseUnavailable
from identity_core.errors import DidNotFound, IdentityError, InvalidDid, InvalidRequest, PluginUnavailable
from identity_core.use_cases.dids.read import GetDidLog, ListDidHistory, ResolveDid
from identity_core.use_cases.dids.stored import ListStoredHistory, ResolveStored, StoredHeads
from identity_core.wire import DeactivateDidRequest, ListDidHistoryQuery, ResolveDidQuery
from tests.did_use_cases import Rooms
from tests.unit.use_cases.test_versions_in_time import Play

QUERIES: dict[str, Any] = {
    "resolveDid": ResolveDidQuery(),
    "resolveIdentifier": ResolveIdentifierQuery(),
    "listDidHistory": ListDidHistoryQuery(),
    "getDidLog": None,
}
Handlers = dict[str, Callable[[Request], Awaitable[Answer]]]


class CountedReads(StoredReads):
    """``StoredReads`` that counts its answers."""

    found = 0

    async def _read(self, did: str, reading: Coroutine[Any, Any, Any]) -> Any:
        answer = await super()._read(did, reading)
        CountedReads.found += answer is not None
        return answer


class NoReads(StoredReads):
    """``StoredReads`` that finds nothing."""

    async def _read(self, did: str, reading: Coroutine[Any, Any, Any]) -> Any:
        reading.close()


def handlers_with(rooms: Rooms, reads: type[StoredReads], *, visible: bool = True) -> Handlers:
    cache, resolve = AnswerCache(rooms.store.documents, rooms.clock), ResolveDid(rooms.reader)
    heads = StoredHeads(rooms.methods, rooms.store.documents, rooms.check)
    stored = reads(rooms.reader.parse, ResolveStored(heads), ListStoredHistory(heads, visible), cache)
    none: Any = None
    others = ("create", "update", "deactivate", "rotate", "recover", "owned")
    dids = DidHandlers(
        **dict.fromkeys(others, none),
        reader=rooms.reader,
        resolve=resolve,
        history=ListDidHistory(rooms.reader, visible),
        log=GetDidLog(rooms.reader, rooms.ledger, visible),
        cache=cache,
        stored=stored,
    )
    identifiers = IdentifierHandlers(Identifiers(resolve, rooms.methods), cache, rooms.clock, stored)
    return {
        "resolveDid": dids.resolve_did,
        "resolveIdentifier": identifiers.resolve_identifier,
        "listDidHistory": dids.list_did_history,
        "getDidLog": dids.get_did_log,
    }


def request_for(name: str, did: str, query: Any = None) -> Request:
    path = {"identifier" if name == "resolveIdentifier" else "did": did}
    return Request(request_id="mine", path=path, query=QUERIES[name] if query is None else query)


async def outcome(handler: Callable[[Request], Awaitable[Answer]], request: Request) -> tuple[Any, ...]:
    """Return the answer or the refusal."""
    try:
        answer = await handler(request)
    except IdentityError as error:
        return type(error), str(error), error.details
    body = answer.body if isinstance(answer.body, bytes) else encode(answer.body)
    body = re.sub(rb'"duration":[0-9]+', b"", body)
    return answer.status, body, answer.media_type, [tuple(each) for each in answer.headers]


async def grown(rooms: Rooms, versions: int) -> Play:
    play = Play(rooms)
    await play.begin()
    for _ in range(1, versions):
        rooms.clock.move(seconds=2)
        await play.add_service()
    return play


async def deactivate(rooms: Rooms, play: Play) -> None:
    signed = await rooms.signed(play.did, play.secret, "deactivate")
    context = rooms.context(play.did, signed)
    await rooms.deactivate(play.did, DeactivateDidRequest(confirm=True), signed, context, if_match=None)


def test_stored_reads_answer_as_use_cases_do(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        active, gone, graced, expired = [await grown(rooms, versions) for versions in (3, 2, 1, 1)]
        await deactivate(rooms, gone)
        await graced.rotate(7200)
        await expired.rotate(60)
        rooms.clock.move(seconds=90)
        CountedReads.found = 0
        for did in (*(str(play.did) for play in (active, gone, graced, expired)), f"{active.did}x", "did:ids:no", "no"):
            for visible in (True, False):
                stored, decoded = (handlers_with(rooms, reads, visible=visible) for reads in (CountedReads, NoReads))
                for name in QUERIES:
                    # Twice: the second answer may come from the cache.
                    for _ in range(2):
                        found = [await outcome(each[name], request_for(name, did)) for each in (stored, decoded)]
                        assert found[0] == found[1], (did, name, visible)
        assert CountedReads.found > 10
        await rooms.close()

    asyncio.run(story())


def test_unknown_dids_and_invalid_queries_are_refused(tmp_path: Path) -> None:
    async def story() -> None:
        rooms = Rooms(tmp_path)
        play = await grown(rooms, 1)
        unknown = str(play.did)[:-1] + ("a" if str(play.did)[-1] != "a" else "b")
        handlers = handlers_with(rooms, StoredReads)
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
        handlers = handlers_with(rooms, StoredReads)
        for name in QUERIES:
            with pytest.raises(PluginUnavailable):
                await handlers[name](request_for(name, str(play.did)))
        assert len(calls) == len(QUERIES)
        await rooms.close()

    asyncio.run(story())


@pytest.mark.parametrize("fault", [KeyError("a fault of ours"), DatabaseUnavailable()])
def test_a_fault_is_raised(fault: Exception) -> None:
    async def read() -> None:
        raise fault

    none: Any = None
    stored = StoredReads(lambda did: none, none, none, none)
    with pytest.raises(type(fault)):
        asyncio.run(stored._read("did:ids:a", read()))
