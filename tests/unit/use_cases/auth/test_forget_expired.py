"""What has expired goes, although nobody asks for anything; a clock that is set back makes no challenge fresh."""

from __future__ import annotations

import asyncio
import hashlib
from datetime import timedelta
from pathlib import Path

from identity_core.ports.repositories import SpentChallenge
from identity_core.ports.usage import KEPT, Charge
from identity_core.store import Store
from identity_core.use_cases.auth.forget_expired import ForgetExpired
from tests.rooms import START, MovableClock


def test_expired_rows_go_by_themselves(tmp_path: Path) -> None:
    async def scenario() -> None:
        store, clock = Store.open(tmp_path), MovableClock()
        sweep = ForgetExpired(store.spent_challenges, store.idempotency, store.usage, clock)
        end = START + timedelta(minutes=5)
        for number in range(1200):
            digest = hashlib.sha256(str(number).encode()).digest()
            assert await store.spent_challenges.spend(SpentChallenge(digest, b"s" * 16, number, end))
        await store.idempotency.begin("key", "print", START)
        today = int(START.timestamp()) // 86_400
        await store.usage.charge([Charge("", "did:a", day, 1, None, None) for day in (KEPT, today)])

        async def left() -> list[int]:
            counts = []
            for table in ("spent_challenges", "idempotency_keys", "usage"):
                sql = f"SELECT count(*) FROM {table}"
                counts += await store.database.read(lambda transaction, sql=sql: transaction.execute(sql).fetchone())
            return counts

        clock.time = end + timedelta(minutes=59)
        assert await sweep.step() > 1
        assert await left() == [1200, 1, 2], "a clock may be set back by an hour"
        clock.time = end + timedelta(hours=1)
        waits = [await sweep.step() for _ in range(3)]
        assert await left() == [0, 1, 2]
        assert waits[0] < 1 < waits[2], "it comes back soon while there is more, and no step deletes without end"
        clock.time = START + timedelta(hours=25)
        await sweep.step()
        assert await left() == [0, 0, 1]
        await store.close()

    asyncio.run(scenario())
