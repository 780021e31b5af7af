"""Spent challenges: one winner each, also among processes, and numbers that are cheap to find."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from identity_core.ports.repositories import ChallengeOfferRow, ChallengeUseRow
from identity_core.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
SAYING, OTHER = b"s" * 16, b"o" * 16


def use_row(number: int | None, saying: bytes = SAYING, *, end: datetime = NOW) -> ChallengeUseRow:
    digest = hashlib.sha256(saying + str((number, end)).encode()).digest()
    return ChallengeUseRow(digest, saying, number, end)


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_one_of_64_concurrent_uses_wins(store: Store, tmp_path: Path, url: str | None) -> None:
    """Two stores on one database stand for two processes."""

    async def scenario() -> None:
        second = Store.open(tmp_path, url)
        try:
            both = (store, second)
            each = await asyncio.gather(*(both[turn % 2].spent_challenges.spend(use_row(0)) for turn in range(64)))
            assert sum(each) == 1
            assert not await second.spent_challenges.spend(use_row(0))
        finally:
            await second.close()

    run(scenario())


def test_the_highest_numbers_of_each_saying(store: Store) -> None:
    async def scenario() -> None:
        for number in (0, 3, 7, 5):
            assert await store.spent_challenges.spend(use_row(number))
        assert await store.spent_challenges.spend(use_row(9, OTHER))
        assert await store.spent_challenges.spend(use_row(None))
        found = await store.spent_challenges.numbers([SAYING, OTHER, b"n" * 16], limit=3)
        assert [list(one) for one in found] == [[7, 5, 3], [9], []]

    run(scenario())


def test_expired_ones_are_forgotten_a_few_at_a_time(store: Store) -> None:
    async def scenario() -> None:
        for number in range(5):
            await store.spent_challenges.spend(use_row(number))
        late = use_row(5, end=NOW + timedelta(microseconds=1))
        await store.spent_challenges.spend(late)
        forget = store.spent_challenges.forget
        assert [await forget(NOW, limit=3) for _ in range(3)] == [3, 2, 0]
        assert not await store.spent_challenges.spend(late)

    run(scenario())


def test_offered_challenges_are_found_by_scope_address_and_use(store: Store) -> None:
    async def scenario() -> None:
        spending = store.spent_challenges
        for turn, (scope, address) in enumerate(
            [(SAYING, "a"), (SAYING, "b"), (OTHER, "a"), (SAYING, "a"), (SAYING, "c")]
        ):
            at = NOW + timedelta(seconds=turn)
            await spending.offer(ChallengeOfferRow(bytes([turn]) * 32, scope, address, bytes([turn]) * 16, at, at))
        await spending.spend(ChallengeUseRow(bytes([3]) * 32, SAYING, None, NOW))

        async def list_offered(*scopes: bytes, own: bool, used: bool = False, limit: int = 9) -> list[int]:
            rows = await spending.offered(scopes, "a", own=own, used=used, limit=limit)
            return [row.number[0] for row in rows]

        assert await list_offered(SAYING, own=True) == [0]
        assert await list_offered(SAYING, own=True, used=True) == [3]
        assert await list_offered(SAYING, OTHER, own=True) == [2, 0]
        assert await list_offered(SAYING, OTHER, own=True, limit=1) == [2]
        assert await list_offered(SAYING, own=False) == [4, 1]
        assert await spending.forget_offered(NOW + timedelta(seconds=1), limit=9) == 2
        assert await list_offered(SAYING, own=False) == [4]

    run(scenario())
