"""Codes and what they give, by a clock that the test moves; what a stranger tries at the endpoints stands in ``tests/attack``."""

from __future__ import annotations

import os
from datetime import timedelta

import pytest
from identity_oauth.domain.authorization_code import AuthorizationCode, AuthorizationCodes, hash_of
from identity_oauth.use_cases.authorization import NATIVE, GrantRefused, RedeemAuthorizationCode

from identity_core.domain.activity import RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from plugins.oauth.tests.test_tokens import Desk, claims_of, on_desk, refused
from tests.did_use_cases import Rooms

REDIRECT = "https://shop.example/callback"
VERIFIER = "v" * 43
AS_CLIENT = RequestContext("issueToken", NATIVE, "r-1")


class Shop:
    """A holder who has let a client in, and where it redeems its codes."""

    def __init__(self, desk: Desk, holder: Did, key: str, client: Did) -> None:
        rooms = desk.rooms
        self.desk, self.rooms, self.holder, self.key, self.client = desk, rooms, holder, key, client
        codes = AuthorizationCodes(bytes(32), os.urandom)
        self.redeem = RedeemAuthorizationCode(codes, rooms.store.spent_challenges, desk.issue, rooms.clock)

    @classmethod
    async def open(cls, desk: Desk) -> Shop:
        holder, client = await desk.rooms.new_did(), await desk.rooms.new_did()
        return cls(desk, holder.version.state.did, holder.keys[0].public, client.version.state.did)

    def code(self) -> AuthorizationCode:
        end = self.rooms.clock.now().replace(microsecond=0) + timedelta(seconds=60)
        scopes = frozenset({"delegations:read"})
        client, holder = str(self.client), str(self.holder)
        redirect, challenge = hash_of(REDIRECT), hash_of(VERIFIER)
        return AuthorizationCode(
            os.urandom(16).hex(), client, True, redirect, challenge, None, scopes, holder, self.key, end
        )

    async def token(self, code: AuthorizationCode) -> str:
        opened = self.redeem.open_code(self.redeem.codes.seal(code))
        assert opened == code
        return (await self.redeem(opened, str(self.client), REDIRECT, VERIFIER, AS_CLIENT)).text


@on_desk
async def test_a_code_ends_after_a_minute(desk: Desk) -> None:
    shop = await Shop.open(desk)
    first, second = shop.code(), shop.code()
    left = (first.expires_at - desk.rooms.clock.now()).total_seconds()
    desk.rooms.clock.move(seconds=left - 1)
    caller = await desk.bearer(await shop.token(first))
    assert caller == Caller(subject=shop.holder, scopes=first.scopes, client=shop.client)
    assert caller.identity == f"sub:{shop.holder} by {shop.client}"
    desk.rooms.clock.move(seconds=1)
    with pytest.raises(GrantRefused):
        await shop.token(second)


@on_desk
async def test_an_expired_code_that_comes_again_withdraws_what_it_gave(desk: Desk) -> None:
    shop = await Shop.open(desk)
    code = shop.code()
    token = await shop.token(code)
    desk.rooms.clock.move(seconds=300)
    await desk.bearer(token)
    with pytest.raises(GrantRefused):
        await shop.token(code)
    await refused(desk, token)


@on_desk
async def test_useless_authorization_is_not_stored(desk: Desk) -> None:
    shop = await Shop.open(desk)
    code = shop.code()
    desk.rooms.clock.move(seconds=60 + 600)
    with pytest.raises(GrantRefused):
        await shop.token(code)
    (kept,) = await shop.rooms.store.spent_challenges.numbers([code.digest[:16]], limit=9)
    assert [*kept] == []
    assert await rows(shop.rooms) == 0


async def rows(rooms: Rooms) -> int:
    """How many challenges are spent."""
    return await rooms.store.spent_challenges.forget(rooms.clock.now() + timedelta(days=1), limit=99)


@on_desk
async def test_a_token_without_scopes_is_none_of_a_client(desk: Desk) -> None:
    shop = await Shop.open(desk)
    claims = claims_of(await shop.token(shop.code()))
    await desk.bearer(await desk.forge(claims=claims))
    bare = {name: value for name, value in claims.items() if name != "scope"}
    await refused(desk, await desk.forge(claims=bare))
    await refused(desk, await desk.forge(claims=claims | {"act": {"sub": str(shop.holder)}}))
    await refused(desk, await desk.forge(claims={name: value for name, value in claims.items() if name != "act"}))
    for unknown in ("key:x", "did:ids:QmAbsent"):
        forged = claims | {"client_id": unknown, "act": {"sub": unknown}}
        await refused(desk, await desk.forge(claims=forged))


@on_desk
async def test_a_code_of_another_secret_is_none(desk: Desk) -> None:
    shop = await Shop.open(desk)
    other = AuthorizationCodes(bytes(31) + b"\x01", os.urandom)
    for text in (other.seal(shop.code()), "", "x", "é"):
        with pytest.raises(GrantRefused):
            shop.redeem.open_code(text)
    code = shop.code()
    assert code.id not in repr(code)
