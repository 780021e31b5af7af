"""A log runs at most a minute ahead of the clock: an entry takes a whole second, and readers refuse times to come."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from identity_did_webvh import DidWebvh, WebvhSettings, identity_provide_did_method

from identity_core.domain.activity import RequestContext
from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import AddService, Authorization, NewService
from identity_core.domain.dids.did import Did
from identity_core.errors import RateLimited
from identity_core.plugin import BuildContext
from identity_core.plugin.border import Bulkhead, guard
from identity_core.plugin.limits import Limits
from identity_core.plugin.sockets import DID_METHOD
from identity_core.ports.did_method import PublishingDidMethod
from identity_core.use_cases.dids.create import Created
from identity_core.wire import DeactivateDidRequest, UpdateDidRequest
from tests.did_use_cases import MovableClock, Rooms, recovery_of, rotation_of, secret_of, update_of

MOST = 60


def webvh(clock: MovableClock) -> PublishingDidMethod:
    """The method as the service has it, behind the border of plugins."""
    context = BuildContext(clock, logging.getLogger(), Path(), None)
    method = identity_provide_did_method().build(WebvhSettings(host="id.example"), context)
    assert isinstance(method, DidWebvh)
    bulkhead = Bulkhead("DID method:webvh", Limits(60, 8, 5, 5.0), DID_METHOD.contract, clock, logging.getLogger())
    return guard(method, PublishingDidMethod, bulkhead)


@dataclass
class Story:
    """A DID of did:webvh, its controller, and the clocks of the use cases and of the method."""

    rooms: Rooms
    clock: MovableClock
    created: Created

    @property
    def did(self) -> Did:
        return self.created.version.state.did

    async def signed(self, purpose: str, key: str = "authentication") -> tuple[Authorization, RequestContext]:
        secret = secret_of(self.created, key)
        scheme = "RecoveryKey" if key == "recovery" else "DIDAuth"
        authorization = await self.rooms.signed(self.did, secret, purpose, scheme=scheme, body={})
        return authorization, self.rooms.context(self.did, authorization)

    async def update(self) -> float:
        """Add or remove a service. Return how many seconds the new version is ahead."""
        head = (await self.rooms.reader.active(self.did)).head.state
        change = UpdateDidRequest(operation="removeService", service_id="#a")
        if head.document.service("a") is None:
            change = update_of(AddService(NewService("LinkedDomains", "https://hana.example/", "a")))
        after = await self.rooms.update(self.did, change, *await self.signed("update"), if_match=None)
        return (after.state.updated_at - self.clock.now()).total_seconds()

    def move(self, seconds: float) -> None:
        self.clock.move(seconds=seconds)
        self.rooms.clock.move(seconds=seconds)


def play(tmp_path: Path, test: Callable[[Story], Awaitable[None]]) -> None:
    async def scene() -> None:
        clock = MovableClock()
        rooms = Rooms(tmp_path, method=webvh(clock))
        await test(Story(rooms, clock, await rooms.new_did(method="webvh")))
        await rooms.close()

    asyncio.run(scene())


def test_updates_in_a_row_end_in_429_and_go_on_later(tmp_path: Path) -> None:
    """420 updates in 81 seconds were 339 seconds ahead, and ``versionTime`` of now was an old version."""

    async def test(story: Story) -> None:
        assert [await story.update() for _ in range(MOST)] == [*range(1, MOST + 1)]
        for _ in range(2):
            with pytest.raises(RateLimited) as refused:
                await story.update()
            assert refused.value.details["retryAfter"] == 1
        old = (await story.rooms.reader.active(story.did)).head.state.document.related("authentication")[0]
        with pytest.raises(RateLimited):
            await story.rooms.rotate(story.did, rotation_of(old), *await story.signed("rotate"), if_match=None)
        story.move(1)
        assert await story.update() == MOST
        with pytest.raises(RateLimited):
            await story.update()
        assert (await story.rooms.reader.active(story.did)).head.state.version_id == MOST + 2
        story.move(600)
        assert await story.update() == 0

    play(tmp_path, test)


def test_a_recovery_and_an_end_are_not_kept_away(tmp_path: Path) -> None:
    """A thief of the key who changes the DID without pause does not keep its owner from ending that."""

    async def test(story: Story) -> None:
        for _ in range(MOST):
            await story.update()
        new = keys.generate("Ed25519", os.urandom)
        wish = recovery_of(new.public, revoke_all=False)
        recovered = await story.rooms.recover(story.did, wish, *await story.signed("recover", "recovery"))
        assert recovered.version.state.version_id == MOST + 2
        ended = await story.rooms.deactivate(
            story.did, DeactivateDidRequest(confirm=True), *await story.signed("deactivate"), if_match=None
        )
        assert ended.state.deactivated

    play(tmp_path, test)
