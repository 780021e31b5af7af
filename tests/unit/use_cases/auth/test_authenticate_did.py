"""What one attempt to sign in may cost, and that no honest signature pays for it."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from identity_core.codec import multikey
from identity_core.crypto import ed25519
from identity_core.domain import challenge, keys
from identity_core.domain.change import AddVerificationMethod, NewKey
from identity_core.domain.did import Did
from identity_core.domain.errors import AuthFailed
from identity_core.use_cases.dids.create import Created, KeyWish
from tests.rooms import ORIGIN, Rooms

BODY = challenge.hash_body({"operation": "addKey"})
KINDS = tuple(itertools.product((None, "update"), (None, BODY)))


def run(folder: Path, scenario: Callable[[Rooms], Coroutine[Any, Any, None]]) -> None:
    async def inside() -> None:
        rooms = Rooms(folder)
        try:
            await scenario(rooms)
        finally:
            await rooms.close()

    asyncio.run(inside())


@pytest.fixture
def verifications(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The messages on which a signature was tried."""
    tried: list[bytes] = []
    verify = ed25519.verify

    def counted(public: bytes, message: bytes, signature: bytes) -> None:
        tried.append(message)
        verify(public, message, signature)

    monkeypatch.setattr(ed25519, "verify", counted)
    return tried


async def with_keys(rooms: Rooms, number: int) -> tuple[Did, list[keys.KeyPair]]:
    """A DID with this many authentication keys, and they in the document's order."""
    pairs = [keys.generate("Ed25519", os.urandom) for _ in range(number)]
    wishes = tuple(KeyWish("Ed25519", ("authentication",), pair.public) for pair in pairs)
    created: Created = await rooms.new_did(recovery_key=False, public_keys=wishes)
    return created.version.state.did, pairs


async def flooded(rooms: Rooms, did: Did) -> None:
    """A stranger asks for challenges of every kind that a request for BODY could be checked against."""
    for purpose, body_hash in KINDS:
        for _ in range(40):
            await rooms.challenge(did, purpose=purpose, body_hash=body_hash)


async def tried(rooms: Rooms, did: Did, signature: bytes) -> None:
    await rooms.authenticate(did, signature, scheme="DIDAuth", purpose="update", body_hash=BODY)


@pytest.mark.parametrize("number", [1, 2, 4, 5, 12, 19])
def test_a_bad_attempt_costs_a_bounded_number_of_verifications(
    tmp_path: Path, verifications: list[bytes], number: int
) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, _ = await with_keys(rooms, number)
        await flooded(rooms, did)
        live = await rooms.store.challenges.live(str(did), rooms.clock.now(), purpose="update", body_hash=BODY)
        verifications.clear()
        with pytest.raises(AuthFailed):
            await tried(rooms, did, bytes(64))
        assert len(verifications) == len(live) * number, "a challenge that was handed out is not tried"
        assert len(verifications) <= challenge.VERIFICATIONS

    run(tmp_path, scenario)


@pytest.mark.parametrize(("purpose", "body_hash"), KINDS)
@pytest.mark.parametrize("flood_first", [True, False])
def test_no_flood_hides_an_honest_challenge(
    tmp_path: Path, purpose: str | None, body_hash: str | None, flood_first: bool
) -> None:
    """Every kind of challenge, the last of nineteen keys, with the flood before and after the owner asked."""

    async def scenario(rooms: Rooms) -> None:
        did, pairs = await with_keys(rooms, 19)
        if flood_first:
            await flooded(rooms, did)
        mine = await rooms.challenge(did, purpose=purpose, body_hash=body_hash)
        for _ in range(20):
            rooms.clock.move(seconds=10)
            await flooded(rooms, did)
        await tried(rooms, did, ed25519.sign(pairs[-1].secret_raw, mine.text.encode()))

    run(tmp_path, scenario)


def test_what_our_own_clients_sign_is_tried_first(tmp_path: Path, verifications: list[bytes]) -> None:
    async def scenario(rooms: Rooms) -> None:
        did, pairs = await with_keys(rooms, 4)
        for purpose, body_hash in KINDS[:-1]:
            for _ in range(40):
                await rooms.challenge(did, purpose=purpose, body_hash=body_hash)
        mine = await rooms.challenge(did, purpose="update", body_hash=BODY)
        verifications.clear()
        await tried(rooms, did, ed25519.sign(pairs[0].secret_raw, mine.text.encode()))
        assert verifications == [mine.text.encode()]

    run(tmp_path, scenario)


def test_keys_that_came_after_a_flood_do_not_raise_the_cost(tmp_path: Path, verifications: list[bytes]) -> None:
    """Sixty-four challenges are live when eighteen keys are added: the bound holds, and who asks anew signs in."""

    async def scenario(rooms: Rooms) -> None:
        did, (first,) = await with_keys(rooms, 1)
        await flooded(rooms, did)
        for _ in range(18):
            new = keys.generate("Ed25519", os.urandom)
            authorization = await rooms.signed(did, first.secret, "update", body={"key": new.public})
            occasion = rooms.occasion(did, authorization)
            added = NewKey(new.type, new.public, ("authentication",))
            await rooms.update(did, (AddVerificationMethod(added),), authorization, occasion, if_match=None)
        verifications.clear()
        with pytest.raises(AuthFailed):
            await tried(rooms, did, bytes(64))
        assert len(verifications) <= challenge.VERIFICATIONS
        mine = await rooms.challenge(did, purpose=None, body_hash=None)
        await tried(rooms, did, ed25519.sign(first.secret_raw, mine.text.encode()))

    run(tmp_path, scenario)


def test_a_challenge_of_another_origin_is_not_tried() -> None:
    def text(origin: str) -> str:
        return f"didauth:v1 {origin} did:ids:x - - {multikey.ED25519} 2026-01-01T00:00:00Z"

    theirs = [text("https://old.example")] * 40
    assert challenge.likeliest([*theirs, text(ORIGIN)], ORIGIN, 19) == [text(ORIGIN)]


@pytest.mark.parametrize("cap", [1, 3, 16, 64])
@pytest.mark.parametrize("number", range(1, 21))
def test_some_challenge_always_finds_room(cap: int, number: int) -> None:
    assert 1 <= challenge.live_of_a_kind(cap, number) <= cap
    assert 4 * number * challenge.live_of_a_kind(cap, number) <= challenge.VERIFICATIONS
