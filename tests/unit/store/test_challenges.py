"""Challenges: one winner each, and no flood that locks the owner out."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_core.codec import multibase
from identity_core.domain import challenge as challenge_text
from identity_core.domain.errors import Overloaded
from identity_core.ports.repositories import Challenge
from identity_core.store import Store
from identity_core.store.challenges import StoredChallenges

DID = "did:ids:QmNrVDyZTYqSVSJwBKPLNk3Mt9NrKNQxJhAnfDpWmVxpJs"
OTHER = "did:ids:QmYwAPJzv5CZsnA625s3Xf2nemtYgPpHdWEz79ojWnPbdG"
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
LIFETIME = timedelta(minutes=5)
CAP = 16


def body(name: object) -> str:
    return multibase.base64url_encode(hashlib.sha256(str(name).encode()).digest())


def offer(
    purpose: str | None = None,
    body_hash: str | None = None,
    *,
    did: str = DID,
    expires_at: datetime = NOW + LIFETIME,
    origin: str = "https://id.example",
) -> Challenge:
    text = challenge_text.build(
        origin=origin, did=did, purpose=purpose, body_hash=body_hash, nonce=os.urandom(32), expires_at=expires_at
    )
    return Challenge(text, did, expires_at)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_a_challenge_is_live_until_it_is_spent(store: Store) -> None:
    async def scenario() -> None:
        made = offer()
        assert await store.challenges.add(made, NOW, cap=CAP) == made
        assert list(await store.challenges.live(DID, NOW, purpose="update", body_hash=None)) == [made]
        assert list(await store.challenges.live(OTHER, NOW, purpose="update", body_hash=None)) == []
        assert await store.challenges.consume(made.text, NOW)
        assert not await store.challenges.consume(made.text, NOW)
        assert list(await store.challenges.live(DID, NOW, purpose="update", body_hash=None)) == []

    run(scenario())


def test_of_64_that_spend_it_one_wins(store: Store) -> None:
    async def scenario() -> None:
        made = offer()
        await store.challenges.add(made, NOW, cap=CAP)
        outcomes = await asyncio.gather(*(store.challenges.consume(made.text, NOW) for _ in range(64)))
        assert sum(outcomes) == 1

    run(scenario())


def test_unknown_and_expired_ones_cannot_be_spent(store: Store) -> None:
    async def scenario() -> None:
        made = offer()
        assert not await store.challenges.consume(made.text, NOW)
        await store.challenges.add(made, NOW, cap=CAP)
        assert not await store.challenges.consume(made.text + " ", NOW)
        assert not await store.challenges.consume(made.text, NOW + LIFETIME)
        assert list(await store.challenges.live(DID, NOW + LIFETIME, purpose="update", body_hash=None)) == []
        # The clock stepped back: it is as good as it was.
        assert await store.challenges.consume(made.text, NOW)

    run(scenario())


def test_live_are_those_that_may_fit_and_the_first_to_expire_comes_first(store: Store) -> None:
    async def scenario() -> None:
        fitting = [
            offer(expires_at=NOW + timedelta(seconds=10)),
            offer("update", expires_at=NOW + timedelta(seconds=20)),
            offer(None, body("b"), expires_at=NOW + timedelta(seconds=30)),
            offer("update", body("b"), expires_at=NOW + timedelta(seconds=40)),
        ]
        others = [offer("rotate"), offer("update", body("c")), offer("rotate", body("b"))]
        for made in (*reversed(fitting), *others):
            await store.challenges.add(made, NOW, cap=CAP)
        assert list(await store.challenges.live(DID, NOW, purpose="update", body_hash=body("b"))) == fitting
        assert list(await store.challenges.live(DID, NOW, purpose="update", body_hash=None)) == fitting[:2]

    run(scenario())


def test_at_the_cap_the_one_with_the_longest_life_left_is_handed_out_again(store: Store) -> None:
    async def scenario() -> None:
        made = [offer(expires_at=NOW + LIFETIME + timedelta(seconds=n % 7)) for n in range(CAP)]
        for each in made:
            await store.challenges.add(each, NOW, cap=CAP)
        longest = max(each.expires_at for each in made)
        again = await store.challenges.add(offer(), NOW, cap=CAP)
        assert again in made
        assert again.expires_at == longest
        live = await store.challenges.live(DID, NOW, purpose="update", body_hash=None)
        assert sorted(each.text for each in live) == sorted(each.text for each in made)
        # A spent one makes room, and so does time.
        await store.challenges.consume(made[0].text, NOW)
        fresh = offer()
        assert await store.challenges.add(fresh, NOW, cap=CAP) == fresh
        later = offer(expires_at=NOW + 2 * LIFETIME)
        assert await store.challenges.add(later, NOW + LIFETIME + timedelta(seconds=7), cap=CAP) == later

    run(scenario())


def test_a_flood_for_other_bodies_takes_no_room_from_the_owner(store: Store) -> None:
    async def scenario() -> None:
        mine = offer("update", body("mine"))
        await store.challenges.add(mine, NOW, cap=CAP)
        for n in range(200):
            await store.challenges.add(offer("update", body(n)), NOW, cap=CAP)
        for _ in range(40):
            await store.challenges.add(offer(), NOW, cap=CAP)
            await store.challenges.add(offer("update", body("mine")), NOW, cap=CAP)
        # What was handed out still works, what is asked for now says the same, and few have to be tried.
        live = await store.challenges.live(DID, NOW, purpose="update", body_hash=body("mine"))
        assert mine in live
        assert len(live) == 2 * CAP
        given = await store.challenges.add(offer("update", body("mine, later")), NOW, cap=CAP)
        assert challenge_text.Challenge.parse(given.text).body_hash == body("mine, later")
        assert await store.challenges.consume(mine.text, NOW)

    run(scenario())


def test_a_flood_beyond_all_measure_leaves_the_unbound_ones(store: Store) -> None:
    async def scenario() -> None:
        challenges = StoredChallenges(store.database, bound_per_did=50)
        for n in range(50):
            await challenges.add(offer("update", body(n)), NOW, cap=CAP)
        with pytest.raises(Overloaded) as caught:
            await challenges.add(offer("update", body("owner")), NOW, cap=CAP)
        assert caught.value.details == {"did": DID, "retryAfter": 300}
        unbound = offer()
        assert await challenges.add(unbound, NOW, cap=CAP) == unbound
        elsewhere = offer("update", body("owner"), did=OTHER)
        assert await challenges.add(elsewhere, NOW, cap=CAP) == elsewhere

    run(scenario())


def test_another_origin_is_another_saying(store: Store) -> None:
    async def scenario() -> None:
        for _ in range(CAP):
            await store.challenges.add(offer(origin="https://old.example"), NOW, cap=CAP)
        fresh = offer()
        assert await store.challenges.add(fresh, NOW, cap=CAP) == fresh

    run(scenario())


def test_old_rows_go_by_and_by(store: Store) -> None:
    async def scenario() -> None:
        for n in range(40):
            await store.challenges.add(offer("update", body(n)), NOW, cap=CAP)
        later = NOW + LIFETIME
        for _ in range(6):
            await store.challenges.add(offer(expires_at=later + LIFETIME), later, cap=CAP)
        count = await store.database.read(lambda tx: tx.execute("SELECT count(*) FROM challenges").fetchone()[0])
        assert count == 6

    run(scenario())


def test_a_text_that_is_no_challenge_is_refused(store: Store) -> None:
    async def scenario() -> None:
        with pytest.raises(ValueError, match="values to unpack"):
            await store.challenges.add(Challenge("hello", DID, NOW + LIFETIME), NOW, cap=CAP)

    run(scenario())
