"""A large group of writes and the event loop: the jobs are one transaction, and others have turns in between."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from identity_core.database import Transaction, open_database
from identity_core.database.sqlite_jobs import TURN_SECONDS

JOBS = 40


def test_others_have_turns_while_a_large_group_runs(tmp_path: Path) -> None:
    async def scenario() -> tuple[int, int, int]:
        database = open_database(None, tmp_path / "x.sqlite", processes=1)
        await database.write(lambda transaction: transaction.execute("CREATE TABLE rows (n INTEGER)").rowcount)
        running, groups = [0, 0], set()

        def job(transaction: Transaction) -> None:
            transaction.execute("INSERT INTO rows VALUES (1)")
            groups.add(transaction.group)
            running[0] += 1
            time.sleep(TURN_SECONDS)

        async def others() -> None:
            while running[0] < JOBS:
                running[1] += 0 < running[0] < JOBS
                await asyncio.sleep(0)

        watching = asyncio.create_task(others())
        await asyncio.gather(*(database.write(job) for _ in range(JOBS)))
        await watching
        rows = database.read_now(lambda transaction: transaction.execute("SELECT count(*) FROM rows").fetchone()[0])
        await database.close()
        return rows, len(groups), running[1]

    rows, groups, turns = asyncio.run(scenario())
    assert (rows, groups) == (JOBS, 1)
    assert turns >= JOBS // 2
