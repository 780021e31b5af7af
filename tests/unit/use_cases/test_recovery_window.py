"""A recovery that restores a version, on both databases, and read by a process that was not there."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from identity_commands.verify_log import verify

from identity_core.domain.dids import keys
from identity_core.domain.dids.changes import AddService, AddVerificationMethod, NewService
from identity_core.errors import InvalidDocument
from tests.attack.thief import Database
from tests.did_use_cases import Rooms, recovery_of, secret_of, update_of
from tests.postgres_server import postgres_server

__all__ = ["postgres_server"]

THIEFS = AddService(NewService("LinkedDomains", "https://thief.example/", "thiefs"))


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.nightly)])
def url(request: pytest.FixtureRequest) -> str | None:
    return request.getfixturevalue("postgres_server").new_database() if request.param == "postgresql" else None


async def robbed(rooms: Rooms) -> tuple[Any, str]:
    """A DID whose key a thief has: she has added a key and a service of hers. Returns it with its recovery key."""
    made = await rooms.new_did()
    did, secret = made.version.state.did, secret_of(made)
    own = keys.generate("Ed25519", lambda size: bytes([7]) * size, ("authentication",))
    for step in (AddVerificationMethod(own), THIEFS):
        rooms.clock.move(seconds=1)
        proof = await rooms.signed(did, secret, "update")
        await rooms.update(did, update_of(step), proof, rooms.context(did, proof), if_match=None)
    return did, secret_of(made, "recovery")


async def recovered(rooms: Rooms, did: Any, secret: str, version: int, number: int = 1) -> Any:
    proof = await rooms.signed(did, secret, "recover", scheme="RecoveryKey")
    fresh = keys.generate("Ed25519", lambda size: bytes([number]) * size)
    wish = recovery_of(fresh.public, revoke_all=False, restore_version=version)
    return await rooms.recover(did, wish, proof, rooms.context(did, proof))


def with_rooms(folder: Path, url: str | None, story: Callable[[Rooms], Awaitable[None]]) -> None:
    async def run() -> None:
        rooms = Rooms(folder, url=url)
        try:
            await story(rooms)
        finally:
            await rooms.close()

    asyncio.run(run())


def test_the_service_restores_a_version_and_history_says_so(tmp_path: Path, url: str | None) -> None:
    async def story(rooms: Rooms) -> None:
        did, secret = await robbed(rooms)
        first = (await rooms.resolve(did, version_id=1, version_time=None)).version.state
        rooms.clock.move(hours=71)
        result = await recovered(rooms, did, secret, 1)
        assert result.version.state.document.services == first.document.services == ()
        assert result.version.changes[0] == "versionRestored 1"
        # The row is what the log says, also for who folds it anew.
        assert verify(await rooms.log(did)).versions == 4
        assert not await rooms.store.index_rows.compare(str(did), await rooms.check.folded(did))
        # The key that came back counts, and so does the rule for the next recovery.
        rooms.clock.move(hours=2)
        with pytest.raises(InvalidDocument, match="recovery window"):
            await recovered(rooms, did, result.recovery_key.secret, 1, 2)
        again = await recovered(rooms, did, result.recovery_key.secret, 3, 3)
        assert [service.fragment for service in again.version.state.document.services] == ["thiefs"]

    with_rooms(tmp_path, url, story)


@pytest.mark.parametrize("newest", [1, 2, 3])
def test_a_process_that_comes_after_it_follows_the_log(tmp_path: Path, url: str | None, newest: int) -> None:
    """One that restarts and catches up with the ledger, and one that meets the DID while it runs: either may begin anywhere before the
    entry, from rows that do not know what was before them."""
    expected: list[Any] = []

    async def story(rooms: Rooms) -> None:
        did, secret = await robbed(rooms)
        # Another process: it has the ledger, and an index that goes as far as the first versions.
        result = await recovered(rooms, did, secret, 1)
        expected.append((did, result.version.state, tuple(result.version.changes)))

    with_rooms(tmp_path, url, story)
    (did, state, changes) = expected[0]
    database = Database(tmp_path, url)
    database.sql("DELETE FROM did_versions WHERE did = ? AND version_id > ?", str(did), newest)

    async def meets(rooms: Rooms) -> None:
        rooms.clock.move(hours=1)
        found = (await rooms.reader.active(did)).recorded
        assert (found.state, tuple(found.changes)) == (state, changes)

    with_rooms(tmp_path, url, meets)
    database.sql("DELETE FROM did_versions WHERE did = ? AND version_id > ?", str(did), newest)
    database.sql("DELETE FROM projections")

    async def catches_up(rooms: Rooms) -> None:
        await rooms.catch_up()
        head = await rooms.store.documents.head(str(did))
        assert head is not None
        assert (head.state, tuple(head.changes)) == (state, changes)

    with_rooms(tmp_path, url, catches_up)
