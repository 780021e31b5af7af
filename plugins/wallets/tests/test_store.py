"""Requests for presentations: kept until an hour after their end, answered by one."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from identity_wallets import store as presentations
from identity_wallets.store import StoredPresentation, StoredPresentations

from identity_core.errors import Overloaded
from identity_core.store import Store
from identity_core.use_cases.background import CLOCK_SET_BACK, FIRST, ForgetRows
from tests.did_use_cases import MovableClock

NOW = datetime(2026, 5, 1, tzinfo=UTC)
END = NOW + timedelta(minutes=10)
REQUEST = StoredPresentation("did:a", b"sealed", END)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store.open(tmp_path)
    yield store
    asyncio.run(store.close())


def test_one_of_many_answers_and_nobody_after_the_end(store: Store) -> None:
    async def scenario() -> None:
        kept = StoredPresentations(store.database)
        await kept.add("one", REQUEST, NOW)
        await kept.add("late", REQUEST, NOW)
        assert await kept.find("one") == REQUEST
        assert await kept.find("two") is None
        assert not await kept.answer("two", b"x", NOW)
        done = await asyncio.gather(*(kept.answer("one", bytes([n]), NOW) for n in range(8)))
        assert sum(done) == 1
        found = await kept.find("one")
        assert found is not None
        assert found.answer == bytes([done.index(True)])
        assert not await kept.answer("late", b"x", END)
        assert await kept.answer("late", b"x", END - timedelta(microseconds=1))

    asyncio.run(scenario())


def test_only_ended_entries_are_deleted(store: Store) -> None:
    async def scenario() -> None:
        kept = StoredPresentations(store.database)
        for name in ("one", "two", "three"):
            await kept.add(name, REQUEST, NOW)
        assert await kept.forget(END - timedelta(microseconds=1), limit=9) == 0
        assert await kept.forget(END, limit=2) == 2
        assert await kept.forget(END, limit=2) == 1
        assert [await kept.find(name) for name in ("one", "two", "three")] == [None] * 3

    asyncio.run(scenario())


def test_an_owner_has_so_many_live_ones(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presentations, "LIVE_PER_OWNER", 2)

    async def scenario() -> None:
        kept = StoredPresentations(store.database)
        for name in ("one", "two"):
            await kept.add(name, REQUEST, NOW)
        with pytest.raises(Overloaded):
            await kept.add("three", REQUEST, NOW)
        await kept.add("three", StoredPresentation("did:b", b"sealed", END), NOW)
        await kept.add("four", REQUEST, END)

    asyncio.run(scenario())


def test_requests_are_forgotten_61_minutes_after_their_end(store: Store) -> None:
    async def scenario() -> None:
        kept, clock = StoredPresentations(store.database), MovableClock()
        forget = ForgetRows(kept.forget, clock)
        for number in range(FIRST + 1):
            await kept.add(str(number), StoredPresentation("did:a", b"sealed", clock.time), clock.time)
        clock.time += CLOCK_SET_BACK - timedelta(minutes=1)
        assert await forget.step() == forget.interval_seconds
        assert await kept.find("0") is not None
        clock.time += timedelta(minutes=1)
        assert await forget.step() < 1, "it comes back soon while there is more"
        assert await forget.step() == forget.interval_seconds
        assert [await kept.find(str(number)) for number in range(FIRST + 1)] == [None] * (FIRST + 1)

    asyncio.run(scenario())
