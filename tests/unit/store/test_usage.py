"""Counters of what was written: no race gets past a limit, and what is refused counts nowhere."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from identity_core.errors import QuotaExceeded
from identity_core.ports.key_store import KEPT, Charge
from identity_core.store import Store
from identity_core.store.requests import COUNTED_AHEAD, SHARE_AHEAD

TODAY = 20_000


def charge(
    owner: str = "did:did:ids:a",
    day: int = TODAY,
    byte_count: int = 10,
    *,
    records: int | None = 7,
    most: int | None = 1000,
) -> Charge:
    return Charge("did in a day", owner, day, byte_count, records, most)


async def counted(store: Store, owner: str = "did:did:ids:a", day: int = TODAY) -> tuple[int, int] | None:
    sql = "SELECT records, octets FROM usage WHERE owner = :owner AND day = :day"
    parameters = {"owner": owner, "day": day}
    found = await store.database.read(lambda transaction: transaction.execute(sql, parameters).fetchone())
    return None if found is None else (found[0], found[1])


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


async def admitted(store: Store, *charges: Charge) -> bool:
    try:
        await store.usage.charge(charges)
    except QuotaExceeded:
        return False
    return True


def test_at_most_limit_of_64_concurrent_uses_succeeds(store: Store, tmp_path: Path, url: str | None) -> None:
    """Two stores on one database stand for two processes."""

    async def scenario() -> None:
        second = Store.open(tmp_path, url)
        try:
            both = (store, second)
            outcomes = await asyncio.gather(*(admitted(both[turn % 2], charge()) for turn in range(64)))
            assert sum(outcomes) == 7
            assert await counted(store) == (7, 70)
        finally:
            await second.close()

    run(scenario())


def test_octets_are_limited_to_the_last_one(store: Store) -> None:
    async def scenario() -> None:
        assert await admitted(store, charge(byte_count=999))
        assert not await admitted(store, charge(byte_count=2))
        assert await admitted(store, charge(byte_count=1))
        assert not await admitted(store, charge("did:did:ids:b", byte_count=1001)), "the first one counts as well"
        assert await counted(store, "did:did:ids:b") is None

    run(scenario())


def test_all_are_counted_or_none(store: Store) -> None:
    async def scenario() -> None:
        first, second = charge(day=KEPT), charge("address:192.0.2.1", records=1)
        assert await admitted(store, first, second)
        assert not await admitted(store, first, second)
        assert await counted(store, day=KEPT) == (1, 10)

    run(scenario())


def test_unstored_use_is_returned(store: Store) -> None:
    async def scenario() -> None:
        one = charge(records=1)
        for _ in range(3):
            assert await admitted(store, one)
            assert not await admitted(store, one)
            await store.usage.refund(one)
        assert await counted(store) == (0, 0)

    run(scenario())


def test_no_limit_is_none(store: Store) -> None:
    async def scenario() -> None:
        for _ in range(20):
            assert await admitted(store, charge(records=None, most=None))
        records, data = await counted(store) or (0, 0)
        assert 20 <= records < 20 + COUNTED_AHEAD
        assert data == 10 * records

    run(scenario())


LARGE = COUNTED_AHEAD * SHARE_AHEAD


@pytest.mark.parametrize(
    ("records", "most", "byte_count", "step"),
    [
        (LARGE, None, 10, COUNTED_AHEAD),
        (3 * SHARE_AHEAD, None, 10, 3),
        (SHARE_AHEAD, None, 10, 1),
        (7, None, 10, 1),
        (None, 3 * SHARE_AHEAD * 10, 10, 3),
        (None, LARGE * 10, 25, COUNTED_AHEAD * 10 // 25),
        (None, LARGE * 10, LARGE, 1),
    ],
)
def test_no_more_is_counted_ahead_than_a_thousandth_of_the_limit(
    store: Store, records: int | None, most: int | None, byte_count: int, step: int
) -> None:
    async def scenario() -> None:
        for number in range(1, 2 * step + 2):
            assert await admitted(store, charge(byte_count=byte_count, records=records, most=most))
            ahead = -(-number // step) * step
            assert await counted(store) == (ahead, ahead * byte_count), "never fewer than there were"

    run(scenario())


def test_many_counters_are_each_moved_by_one(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("identity_core.store.requests.COUNTERS_AHEAD", 2)

    async def scenario() -> None:
        names = [f"did:did:ids:{number}" for number in range(5)]
        for number in range(1, 4):
            for name in names:
                assert await admitted(store, charge(name, records=LARGE, most=None))
            found = [(await counted(store, name) or (0, 0))[0] for name in names]
            assert found == [COUNTED_AHEAD, COUNTED_AHEAD, number, number, number]
        # Another day has counters of its own, and a clock that is set back none.
        for day, count in ((TODAY + 1, COUNTED_AHEAD), (TODAY, 4)):
            assert await admitted(store, charge(names[4], day, records=LARGE, most=None))
            assert (await counted(store, names[4], day) or (0, 0))[0] == count

    run(scenario())


def test_stored_uses_are_counted_one_by_one(store: Store) -> None:
    async def scenario() -> None:
        for number in (1, 2, 3):
            assert await admitted(store, charge(day=KEPT, records=None, most=None))
            assert await counted(store, day=KEPT) == (number, 10 * number)

    run(scenario())


def test_the_last_of_a_large_limit_are_counted_one_by_one(store: Store) -> None:
    async def scenario() -> None:
        before = LARGE - COUNTED_AHEAD + 3
        row = {"owner": "did:did:ids:a", "day": TODAY, "records": before}
        sql = "INSERT INTO usage (owner, day, records, octets) VALUES (:owner, :day, :records, 0)"
        await store.database.write(lambda transaction: transaction.execute(sql, row).rowcount)
        one = charge(records=LARGE, most=None)
        assert [await admitted(store, one) for _ in range(COUNTED_AHEAD)].count(True) == LARGE - before
        assert (await counted(store) or (0, 0))[0] == LARGE

    run(scenario())


def test_many_at_once_count_ahead_but_once(store: Store) -> None:
    async def scenario() -> None:
        one = charge(records=LARGE, most=None)
        assert all(await asyncio.gather(*(admitted(store, one) for _ in range(40))))
        records, _ = await counted(store) or (0, 0)
        assert 40 <= records < 40 + COUNTED_AHEAD
        assert all(await asyncio.gather(*(admitted(store, one) for _ in range(records - 40))))
        assert (await counted(store) or (0, 0))[0] == records, "what was counted ahead is used up"

    run(scenario())


def test_reserved_counts_need_no_statement(store: Store) -> None:
    async def scenario() -> None:
        both = [charge(name, records=LARGE, most=None) for name in ("did:did:ids:a", "address:192.0.2.1")]
        before = store.database.load().jobs
        assert all(await asyncio.gather(*(admitted(store, *both) for _ in range(COUNTED_AHEAD))))
        assert store.database.load().jobs - before == 1
        for one in both:
            assert (await counted(store, one.owner) or (0, 0))[0] == COUNTED_AHEAD

    run(scenario())


def test_waiting_request_is_counted_after_failure(store: Store) -> None:
    async def scenario() -> None:
        one = charge(records=LARGE, most=None)
        asks = asyncio.ensure_future(admitted(store, one))
        waits = asyncio.ensure_future(admitted(store, one))
        await asyncio.sleep(0)
        asks.cancel()
        assert await asyncio.wait_for(waits, 5)
        records, _ = await counted(store) or (0, 0)
        assert records >= COUNTED_AHEAD

    run(scenario())


def test_waiting_request_is_refused_at_limit(store: Store) -> None:
    async def scenario() -> None:
        row = {"owner": "did:did:ids:a", "day": TODAY, "records": LARGE - 2}
        sql = "INSERT INTO usage (owner, day, records, octets) VALUES (:owner, :day, :records, 0)"
        await store.database.write(lambda transaction: transaction.execute(sql, row).rowcount)
        one = charge(records=LARGE, most=None)
        outcomes = await asyncio.wait_for(asyncio.gather(*(admitted(store, one) for _ in range(20))), 10)
        assert sum(outcomes) == 2
        assert (await counted(store) or (0, 0))[0] == LARGE

    run(scenario())


def test_refusal_uses_nothing_reserved(store: Store) -> None:
    async def scenario() -> None:
        one = charge(records=LARGE, most=None)
        assert await admitted(store, one)
        full = charge("address:192.0.2.1", records=1)
        assert await admitted(store, full)
        for _ in range(COUNTED_AHEAD):
            assert not await admitted(store, one, full)
        for _ in range(COUNTED_AHEAD - 1):
            assert await admitted(store, one)
        assert (await counted(store) or (0, 0))[0] == COUNTED_AHEAD

    run(scenario())


def test_large_request_is_not_paid_by_small_reservation(store: Store) -> None:
    async def scenario() -> None:
        assert await admitted(store, charge(byte_count=1, records=LARGE, most=LARGE))
        assert await admitted(store, charge(byte_count=LARGE // 2, records=LARGE, most=LARGE))
        records, data = await counted(store) or (0, 0)
        assert data >= LARGE // 2 + 1
        assert not await admitted(store, charge(byte_count=LARGE // 2, records=LARGE, most=LARGE))
        assert await counted(store) == (records, data)

    run(scenario())


@pytest.mark.parametrize("day", [TODAY, KEPT])
def test_past_days_are_forgotten_and_what_is_kept_is_not(store: Store, day: int) -> None:
    async def scenario() -> None:
        for past in range(5):
            assert await admitted(store, charge(day=TODAY - 1 - past))
        assert await admitted(store, charge(day=day))
        assert [await store.usage.forget(TODAY, limit=3) for _ in range(3)] == [3, 2, 0]
        assert await counted(store, day=day) == (1, 10)

    run(scenario())
