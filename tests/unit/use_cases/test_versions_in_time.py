"""Property: ``versionTime=t`` selects the version in force at ``t``, whether or not the end of a grace period is written.

openapi/DECISIONS.md §2.3, §2.10. The model below knows rotations, expiries and services and nothing of the code: a version
is in force from its time on, times compare in whole seconds, and a grace period ends at its second by definition.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from identity_commands.verify_log import verify

from identity_codec.values import replace
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import AddService, NewService
from identity_core.errors import DidNotFound
from tests.did_use_cases import Rooms, recovery_of, rotation_of, secret_of, update_of
from tests.memory import folder_in_memory

SECOND = timedelta(seconds=1)
TICK = timedelta(microseconds=1)


@dataclass(frozen=True)
class Then:
    """One version of the model: from when, with which keys (in grace until when, or None), with which services."""

    since: datetime
    keys: tuple[tuple[str, datetime | None], ...]
    services: tuple[str, ...] = ()

    def list_ids(self) -> tuple[set[str], set[str]]:
        return {key for key, _ in self.keys}, set(self.services)


@dataclass
class Model:
    versions: list[Then] = field(default_factory=list)

    def list_versions_at(self, now: datetime) -> list[Then]:
        """The versions that there are at ``now``, those that come of themselves among them. When several were made in one
        microsecond the last is a few ticks ahead of the clock; it is there."""
        found = list(self.versions)
        now = max(now, found[-1].since)
        while True:
            ends = [end for _, end in found[-1].keys if end is not None and end <= now]
            if not ends:
                return found
            left = tuple((key, end) for key, end in found[-1].keys if end != min(ends))
            found.append(replace(found[-1], since=min(ends), keys=left))

    def next_time(self, now: datetime) -> datetime:
        """When a change that is made now comes into force: behind every version that is there then."""
        since = now
        while (later := max(now, self.list_versions_at(since)[-1].since + TICK)) != since:
            since = later
        return since

    def change(self, now: datetime, **changed: Any) -> None:
        since = self.next_time(now)
        self.versions = self.list_versions_at(since)
        self.versions.append(replace(self.versions[-1], since=since, **changed))

    def expected(self, time: datetime, now: datetime) -> tuple[int, Then] | None:
        """The number and the version that ``time`` selects, asked at ``now``."""
        second = min(time, max(now, self.versions[-1].since)).replace(microsecond=0)
        numbered = list(enumerate(self.list_versions_at(now), start=1))
        return next((pair for pair in reversed(numbered) if pair[1].since.replace(microsecond=0) <= second), None)


class Play:
    """A DID that lives through the steps, beside its model."""

    def __init__(self, rooms: Rooms) -> None:
        self.rooms = rooms
        self.model = Model()
        self.count = 0

    async def begin(self) -> None:
        created = await self.rooms.new_did()
        self.did = created.version.state.did
        self.key, self.secret = created.keys[0].public, secret_of(created)
        self.recovery = secret_of(created, "recovery")
        self.model.versions = [Then(created.version.state.updated_at, ((self.key, None),))]

    async def add_service(self) -> None:
        self.count += 1
        name = f"s{self.count}"
        operation = AddService(NewService("LinkedDomains", "https://hana.example/", name))
        signed = await self.rooms.signed(self.did, self.secret, "update")
        await self.rooms.update(
            self.did, update_of(operation), signed, self.rooms.context(self.did, signed), if_match=None
        )
        now = self.rooms.clock.now()
        services = self.model.list_versions_at(self.model.next_time(now))[-1].services
        self.model.change(now, services=(*services, name))

    async def rotate(self, grace: int) -> None:
        now = self.rooms.clock.now()
        end = now + timedelta(seconds=grace)
        signed = await self.rooms.signed(self.did, self.secret, "rotate")
        wish = rotation_of(f"{self.did}#{self.key}", end)
        rotated = await self.rooms.rotate(self.did, wish, signed, self.rooms.context(self.did, signed), if_match=None)
        old, self.key = self.key, rotated.new_key.public
        self.secret = rotated.new_key.secret or ""
        # The end is printed, so it is a whole second; one that is not in the future is no grace at all.
        whole = end.replace(microsecond=0)
        since = self.model.next_time(now)
        before = self.model.list_versions_at(since)[-1]
        others = tuple(pair for pair in before.keys if pair[0] != old)
        kept = ((old, whole),) if whole > since else ()
        self.model.change(now, keys=(*others, *kept, (self.key, None)))

    async def recover(self, revoke_all: bool) -> None:
        fresh = keys.generate("Ed25519", os.urandom)
        signed = await self.rooms.signed(self.did, self.recovery, "recover", scheme="RecoveryKey")
        done = await self.rooms.recover(
            self.did, recovery_of(fresh.public, revoke_all=revoke_all), signed, self.rooms.context(self.did, signed)
        )
        self.key, self.secret = fresh.public, fresh.secret
        self.recovery = done.recovery_key.secret or ""
        now = self.rooms.clock.now()
        left = () if revoke_all else self.model.list_versions_at(self.model.next_time(now))[-1].keys
        self.model.change(now, keys=(*left, (fresh.public, None)))

    async def check(self) -> None:
        """At, before and after the second of every version, and at times far off."""
        now = self.rooms.clock.now()
        times = {now, now + timedelta(days=400), self.model.versions[0].since - timedelta(days=1)}
        for version in self.model.list_versions_at(now):
            times |= {version.since + shift for shift in (-SECOND, -SECOND / 4, 0 * SECOND, SECOND / 4, SECOND)}
        for time in sorted(times):
            await self.check_at(time, now)
        found = await self.rooms.history(self.did, after=None, limit=200, descending=False)
        assert [item.state.updated_at for item in found.items] == [
            version.since for version in self.model.list_versions_at(now)
        ]

    async def check_at(self, time: datetime, now: datetime) -> None:
        expected = self.model.expected(time, now)
        if expected is None:
            with pytest.raises(DidNotFound):
                await self.rooms.resolve(self.did, version_id=None, version_time=time)
            return
        number, version = expected
        found = await self.rooms.resolve(self.did, version_id=None, version_time=time)
        state = found.version.state
        shown = (
            {method.multibase for method in state.document.methods},
            {service.id.partition("#")[2] for service in state.document.services},
        )
        assert (state.version_id, shown) == (number, version.list_ids()), (time, now)
        again = await self.rooms.resolve(self.did, version_id=number, version_time=None)
        assert again.version.state.document == state.document


GRACES = st.sampled_from([-5, 0, 1, 2, 30, 60, 3600, 7200])
WAITS = st.one_of(
    st.sampled_from([0.0, 0.25, 0.999_999, 1.0, 2.0, 59.5, 60.0, 3600.0]), st.floats(0, 8000, allow_nan=False)
)
STEPS = st.lists(
    st.tuples(
        WAITS,
        st.one_of(
            st.tuples(st.just("rotate"), GRACES),
            st.tuples(st.just("add_service")),
            st.tuples(st.just("recover"), st.booleans()),
            st.tuples(st.just("wait")),
        ),
    ),
    max_size=7,
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Rooms, asyncio.AbstractEventLoop]]:
    """Yield one set of rooms and one loop for all examples; each example has its own DID, and time only increases."""
    loop = asyncio.new_event_loop()

    async def open_rooms(folder: Path) -> Rooms:
        return Rooms(folder)

    with folder_in_memory(tmp_path_factory.mktemp("time")) as folder:
        rooms = loop.run_until_complete(open_rooms(folder))
        yield rooms, loop
        loop.run_until_complete(rooms.close())
    loop.close()


@given(steps=STEPS)
@example(steps=[(0.0, ("rotate", 60)), (60.0, ("wait",)), (0.25, ("wait",))])
@example(steps=[(0.0, ("rotate", 60)), (59.999_999, ("rotate", 1)), (0.0, ("add_service",)), (1.0, ("wait",))])
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_time_selects_the_version_in_force(stage: tuple[Rooms, asyncio.AbstractEventLoop], steps: Any) -> None:
    rooms, loop = stage

    async def story() -> None:
        play = Play(rooms)
        # A DID begins at a whole second, so that grace periods can end exactly at the time of a request.
        rooms.clock.move(microseconds=-rooms.clock.time.microsecond % 1_000_000)
        await play.begin()
        for wait, (what, *arguments) in steps:
            rooms.clock.move(seconds=wait)
            if what != "wait":
                await getattr(play, what)(*arguments)
            await play.check()
        # All grace periods end; nothing is written until the last write, and nothing may change by it.
        rooms.clock.move(hours=3)
        await play.check()
        await play.add_service()
        await play.check()
        log = await rooms.log(play.did)
        assert verify(log).versions == len(play.model.list_versions_at(rooms.clock.now()))

    loop.run_until_complete(story())
