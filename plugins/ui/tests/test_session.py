"""How long a session lasts, and what it lets pages do; what a stranger tries is in ``test_http_pages.py``."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from identity_ui.session import SCOPES, Sessions, body_of

from identity_client import challenge
from identity_codec import ed25519, multikey
from identity_codec.values import replace
from identity_core.api.request import Request
from identity_core.domain.callers import KNOWN, OF_CLIENTS, OF_DIDS
from identity_core.errors import Forbidden, StorageMismatch
from identity_core.use_cases.record import Record
from tests.did_use_cases import ORIGIN, Rooms, secret_of

OWN = {"sec-fetch-site": "same-origin"}


class Visit:
    """A browser that keeps one cookie."""

    def __init__(self, rooms: Rooms, origin: str = ORIGIN, mismatch: StorageMismatch | None = None) -> None:
        self.rooms = rooms
        store = rooms.store
        self.sessions = Sessions(
            reader=rooms.reader,
            signatures=rooms.authenticate,
            spent=store.spent_challenges,
            record=Record(store.activity),
            clock=rooms.clock,
            secret=b"s" * 32,
            random=os.urandom,
            origin=origin,
            mismatch=lambda: mismatch,
        )
        self.cookie = ""

    async def sign_in(self, created: Any) -> str:
        """The attributes of the cookie."""
        did = created.version.state.did
        digest = challenge.hash_body({**body_of(did)})
        offer = await self.rooms.challenge(did, purpose="read", body_hash=digest, named=True)
        signature = ed25519.sign(multikey.decode_secret(secret_of(created))[1], offer.text.encode())
        value = f"DIDAuth {challenge.build_header(offer.text, signature)}"
        answer = await self.sessions.begin(Request(headers=OWN | {"authorization": value}))
        return self.keep(answer.headers)

    def keep(self, headers: Any) -> str:
        value = dict(headers)["set-cookie"]
        self.cookie, _, attributes = value.partition("; ")
        return str(attributes)

    async def look(self) -> Any:
        """Opens a page; its cookie is kept where it brings one."""
        request = Request(headers={"cookie": self.cookie})
        found = await self.sessions.find(request)
        if "set-cookie" in dict(request.answer_headers):
            self.keep(request.answer_headers)
        return found


def visiting(folder: Path, work: Callable[[Visit], Awaitable[None]], **options: Any) -> None:
    async def run() -> None:
        rooms = Rooms(folder)
        try:
            await work(Visit(rooms, **options))
        finally:
            await rooms.close()

    asyncio.run(run())


def test_session_ends_after_idle_half_hour(tmp_path: Path) -> None:
    async def work(visit: Visit) -> None:
        await visit.sign_in(await visit.rooms.new_did())
        for _ in range(24):
            visit.rooms.clock.move(minutes=29, seconds=59)
            assert await visit.look() is not None
        visit.rooms.clock.move(seconds=23)
        assert await visit.look() is not None
        visit.rooms.clock.move(seconds=1)
        assert await visit.look() is None
        await visit.sign_in(await visit.rooms.new_did())
        visit.rooms.clock.move(minutes=30)
        assert await visit.look() is None

    visiting(tmp_path, work)


def test_it_reads_and_does_nothing_else(tmp_path: Path) -> None:
    async def work(visit: Visit) -> None:
        created = await visit.rooms.new_did()
        attributes = await visit.sign_in(created)
        assert visit.cookie.startswith("__Host-identity=")
        assert set(attributes.split("; ")) == {"Path=/", "Max-Age=1800", "HttpOnly", "SameSite=Strict", "Secure"}
        caller = (await visit.look()).caller
        assert caller.person == created.version.state.did
        assert caller.authorization is None
        for scope in SCOPES:
            caller.require_scope(scope)
        assert "delegations:suspend" not in KNOWN | OF_CLIENTS | OF_DIDS
        for scope in ("delegations:write", "credentials:write", "zkp:prove", "dids:operate"):
            with pytest.raises(Forbidden):
                caller.require_scope(scope)

    visiting(tmp_path, work)


def test_a_key_that_ends_takes_its_sessions_along(tmp_path: Path) -> None:
    async def work(visit: Visit) -> None:
        created = await visit.rooms.new_did()
        await visit.sign_in(created)
        found = await visit.look()
        visit.sessions = replace(visit.sessions, secret=b"t" * 32)
        assert await visit.look() is None
        forged = visit.sessions._cookie(type(found)(found.did, "z6MkOther", found.id, found.began, found.seen))
        visit.keep([forged])
        assert await visit.look() is None

    visiting(tmp_path, work)


def test_nothing_is_spent_while_the_databases_are_not_ours(tmp_path: Path) -> None:
    async def work(visit: Visit) -> None:
        created = await visit.rooms.new_did()
        with pytest.raises(StorageMismatch):
            await visit.sign_in(created)

    visiting(tmp_path, work, mismatch=StorageMismatch("other databases"))


def test_without_tls_the_cookie_has_a_plain_name(tmp_path: Path) -> None:
    async def work(visit: Visit) -> None:
        assert visit.sessions.cookie_name == "identity-session"
        assert "Secure" not in visit.sessions._set("", 0)[1]

    visiting(tmp_path, work, origin="http://127.0.0.1:8080")
