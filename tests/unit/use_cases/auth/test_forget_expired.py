"""Removal of expired challenges without a request; a clock that is set back makes no challenge valid again."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path

from identity_core.ports.key_store import KEPT, Charge
from identity_core.ports.repositories import ChallengeUseRow
from identity_core.store import Store
from identity_core.use_cases.auth.challenge import ForgetExpired
from identity_core.use_cases.background import CLOCK_SET_BACK
from tests.did_use_cases import START, MovableClock
from tests.unit.use_cases.test_clock_ahead import WatchedClock


def sweep_of(store: Store, clock: MovableClock) -> ForgetExpired:
    return ForgetExpired(
        store.spent_challenges,
        store.idempotency,
        store.usage,
        clock,
        lambda: 0.0,
    )


def test_expired_rows_go_by_themselves(tmp_path: Path) -> None:
    async def scenario() -> None:
        store, clock = Store.open(tmp_path), MovableClock()
        sweep = sweep_of(store, clock)
        end = START + timedelta(minutes=5)
        for number in range(1200):
            digest = hashlib.sha256(str(number).encode()).digest()
            assert await store.spent_challenges.spend(ChallengeUseRow(digest, b"s" * 16, number, end))
        await store.idempotency.begin("key", "print", START)
        today = int(START.timestamp()) // 86_400
        await store.usage.charge([Charge("", "did:a", day, 1, None, None) for day in (KEPT, today)])

        async def count_rows() -> list[int]:
            counts = []
            for table in ("spent_challenges", "idempotency_keys", "usage"):
                sql = f"SELECT count(*) FROM {table}"
                counts += await store.database.read(lambda transaction, sql=sql: transaction.execute(sql).fetchone())
            return counts

        clock.time = end + timedelta(minutes=59)
        assert await sweep.step() > 1
        assert await count_rows() == [1200, 1, 2], "a clock may be set back by an hour"
        clock.time = end + CLOCK_SET_BACK
        waits = [await sweep.step()]
        assert 1100 < (await count_rows())[0] < 1200, "no step deletes without end"
        while waits[-1] < 1:
            waits.append(await sweep.step())
        assert await count_rows() == [0, 1, 2]
        assert 2 < len(waits) < 10, "it comes back soon while there is more"
        clock.time = START + timedelta(hours=25)
        await sweep.step()
        assert await count_rows() == [0, 0, 1]
        await store.close()

    asyncio.run(scenario())


def test_a_clock_that_jumped_ahead_erases_nothing(tmp_path: Path) -> None:
    """The time since the start is counted by the monotonic clock, so an answer stays for its 24 hours."""

    async def scenario() -> None:
        store, clock = Store.open(tmp_path), WatchedClock()
        await store.idempotency.begin("key", "print", START)
        count = "SELECT count(*) FROM idempotency_keys"

        async def count_rows() -> int:
            found = await store.database.read(lambda transaction: transaction.execute(count).fetchone())
            return int(found[0])

        clock.time = START + timedelta(days=3)
        await sweep_of(store, clock).step()
        assert await count_rows() == 1
        clock.seconds = timedelta(days=3).total_seconds()
        await sweep_of(store, clock).step()
        assert await count_rows() == 0
        await store.close()

    asyncio.run(scenario())
