"""Later runs of a request, by the outcome of the earlier one: use cases of DIDs on a real ledger and a real store."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from identity_codec.values import replace
from identity_core.domain.activity import RequestContext
from identity_core.domain.dids.changes import AddService, NewService
from identity_core.errors import AuthFailed, LedgerUnavailable, RequestInProgress
from identity_core.wire import CreateDidOptions, CreateDidRequest
from tests.did_use_cases import Rooms, operator, secret_of, update_of

FILES = AddService(NewService("LinkedDomains", "https://hana.example/", "files"))
OTHER = AddService(NewService("LinkedDomains", "https://hana.example/", "other"))
WANTED = CreateDidRequest(method="ids", options=CreateDidOptions(recovery_key=True))


class Run:
    """A ``RequestAttempt`` in memory. ``later`` is the next run of the same request."""

    def __init__(self, intent: Mapping[str, Any] | None = None, drawn: list[bytes] | None = None) -> None:
        self.intent, self._drawn, self._left = intent, [] if drawn is None else drawn, iter([*drawn] if drawn else [])
        self.noted: Mapping[str, Any] | None = None
        self.is_overtaken = False

    def random(self, size: int) -> bytes:
        known = next(self._left, None)
        if known is None:
            known = os.urandom(size)
            self._drawn.append(known)
        return known

    async def intend(self, intent: Mapping[str, Any]) -> None:
        if self.is_overtaken:
            raise RequestInProgress
        self.noted = intent

    @contextmanager
    def keeping(self, result: Callable[[Any], Any]) -> Iterator[None]:
        yield

    def later(self) -> Run:
        return Run(self.noted, self._drawn)


class Fails:
    """A ledger whose next append fails: before it has recorded the entry, or after."""

    def __init__(self, real: Any, *, is_recorded: bool) -> None:
        self.real, self.is_recorded = real, is_recorded

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    async def append(self, *arguments: Any, **named: Any) -> Any:
        if self.is_recorded:
            await self.real.append(*arguments, **named)
        raise LedgerUnavailable


def on_rooms(test: Callable[..., Awaitable[None]]) -> Callable[..., None]:
    def run(tmp_path: Path, is_recorded: bool) -> None:
        async def story() -> None:
            rooms = Rooms(tmp_path)
            try:
                await test(rooms, is_recorded)
            finally:
                await rooms.close()

        asyncio.run(story())

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return pytest.mark.parametrize("is_recorded", [True, False])(run)


def context_of_attempt(run: Run) -> RequestContext:
    return RequestContext("createDid", operator(), attempt=run)


def failing(rooms: Rooms, *, is_recorded: bool) -> Any:
    return replace(rooms.writer, ledger=Fails(rooms.writer.ledger, is_recorded=is_recorded))


async def dids(rooms: Rooms) -> int:
    return (await rooms.writer.ledger.head()).sequence


@on_rooms
async def test_later_run_of_create_returns_same_did_and_keys(rooms: Rooms, is_recorded: bool) -> None:
    run = Run()
    with pytest.raises(LedgerUnavailable):
        await replace(rooms.create, writer=failing(rooms, is_recorded=is_recorded))(WANTED, context_of_attempt(run))
    assert run.noted is not None
    results = [await rooms.create(WANTED, context_of_attempt(run.later())) for _ in range(2)]
    assert await dids(rooms) == 1
    first, second = results
    assert str(first.version.state.did) == run.noted["did"]
    assert [key.secret for key in first.keys] == [key.secret for key in second.keys]
    public = {method.multibase for method in first.version.state.document.methods}
    assert {key.public for key in first.keys[:-1]} == public
    # It is the creator's, also where the entry was indexed by what repairs the index.
    owned = await rooms.store.documents.owned(operator().identity, after=None, limit=10)
    assert [str(one.state.did) for one in owned] == [run.noted["did"]]


async def update(rooms: Rooms, writer: Any, run: Run, did: Any, secret: str, operation: Any = FILES) -> Any:
    signed = await rooms.signed(did, secret, "update")
    context = replace(rooms.context(did, signed), attempt=run)
    return await replace(rooms.update, writer=writer)(did, update_of(operation), signed, context, if_match=None)


@on_rooms
async def test_later_run_of_update_returns_first_version(rooms: Rooms, is_recorded: bool) -> None:
    created = await rooms.new_did()
    did, secret, run = created.version.state.did, secret_of(created), Run()
    with pytest.raises(LedgerUnavailable):
        await update(rooms, failing(rooms, is_recorded=is_recorded), run, did, secret)
    version = await update(rooms, rooms.writer, run.later(), did, secret)
    assert version.state.version_id == 2
    # Another process continues; a third run changes nothing and returns the first version.
    await update(rooms, rooms.writer, Run(), did, secret, OTHER)
    again = await update(rooms, rooms.writer, run.later(), did, secret)
    assert (again.state, again.receipt) == (version.state, version.receipt)
    assert (await rooms.reader.recorded(did)).state.version_id == 3


@on_rooms
async def test_lost_place_means_not_recorded(rooms: Rooms, is_recorded: bool) -> None:
    """Another entry has the place of the first run's: that was never recorded, so the later run makes the change."""
    created = await rooms.new_did()
    did, secret, run = created.version.state.did, secret_of(created), Run()
    with pytest.raises(LedgerUnavailable):
        await update(rooms, failing(rooms, is_recorded=False), run, did, secret)
    await update(rooms, rooms.writer, Run(), did, secret, OTHER)
    later = run.later()
    if is_recorded:
        # An overtaken run records nothing.
        later.is_overtaken = True
        with pytest.raises(RequestInProgress):
            await update(rooms, rooms.writer, later, did, secret)
        assert (await rooms.reader.recorded(did)).state.version_id == 2
        return
    version = await update(rooms, rooms.writer, later, did, secret)
    assert version.state.version_id == 3
    assert [service.id.partition("#")[2] for service in version.state.document.services] == ["other", "files"]


@on_rooms
async def test_former_key_completes_a_recorded_change_alone(rooms: Rooms, is_recorded: bool) -> None:
    """It appends nothing: neither the entry of the earlier run nor a new one."""
    created = await rooms.new_did()
    did, secret, run = created.version.state.did, secret_of(created), Run()
    with pytest.raises(LedgerUnavailable):
        await update(rooms, failing(rooms, is_recorded=is_recorded), run, did, secret)
    signed = replace(await rooms.signed(did, secret, "update"), is_former=True)
    context, wish = rooms.context(did, signed), update_of(FILES)
    for attempt in (None, Run()):
        with pytest.raises(AuthFailed):
            await rooms.update(did, wish, signed, replace(context, attempt=attempt), if_match=None)
    later = replace(context, attempt=run.later())
    if is_recorded:
        assert (await rooms.update(did, wish, signed, later, if_match=None)).state.version_id == 2
    else:
        with pytest.raises(AuthFailed):
            await rooms.update(did, wish, signed, later, if_match=None)
    assert await dids(rooms) == (2 if is_recorded else 1)
