"""Sweeps on a server, where others change rows at the same time and the server chooses how rows are found."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from identity_postgresql.session import translated_sql
from identity_records.store import TimelineEntry
from identity_verification import store as verification

from identity_codec.times import micros
from identity_core.database import Transaction
from identity_core.store import Store
from identity_core.store.records import delete_first
from identity_core.store.requests import RETENTION
from plugins.operations.tests.records import stored
from tests.credentials import HOLDER, NOW
from tests.events import open_store, write_rows

HANA = str(HOLDER)
ROWS = 20_000


@pytest.fixture
def url(new_stored_database: Callable[[], str]) -> str:
    return new_stored_database()


@pytest.fixture
def store(tmp_path: Path, url: str) -> Iterator[Store]:
    opened = open_store(tmp_path, url)
    yield opened
    asyncio.run(opened.close())


def run(job: Any) -> Any:
    return asyncio.run(job)


async def done_or_waiting(job: asyncio.Future[int], other: psycopg.Connection[Any]) -> None:
    """Until the job is done, or the server has it wait for ``other``."""
    sql = "SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY (pg_blocking_pids(pid))"
    while not job.done() and other.execute(sql).fetchone() == (0,):
        await asyncio.sleep(0.01)


def test_a_step_reads_no_whole_table_however_the_server_plans_it(url: str) -> None:
    sql = delete_first("consent_replies", "expires_at <= :until ORDER BY expires_at")["postgresql"]
    with psycopg.connect(url, autocommit=True) as connection:
        rows = "SELECT sha256(n::text::bytea), sha256(n::text::bytea), n FROM generate_series(1, %s) AS n"
        connection.execute(f"INSERT INTO consent_replies (digest, sealed, expires_at) {rows}", [ROWS])
        connection.execute("ANALYZE consent_replies")
        # With a plan for any limit a server expects a tenth of the table, and joined it whole.
        connection.execute("SET plan_cache_mode = force_generic_plan")
        explained = connection.execute(
            f"EXPLAIN {translated_sql(sql)}", {"until": ROWS // 2, "limit": 25}, prepare=True
        ).fetchall()
        gone = connection.execute(translated_sql(sql), {"until": ROWS // 2, "limit": 25}).rowcount
    plan = "\n".join(line for (line,) in explained)
    assert "Tid Scan on consent_replies" in plan
    assert "Seq Scan" not in plan
    assert gone == 25


def test_without_statistics_a_step_does_not_sort_all_that_is_due(store: Store, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE verifier_challenges SET (autovacuum_enabled = off)")
        rows = "SELECT sha256(n::text::bytea), 'key:a', '', random() * 1000, 1 FROM generate_series(1, %s) AS n"
        connection.execute(f"INSERT INTO verifier_challenges (digest, owner, domain, expires_at, spent) {rows}", [ROWS])
    sql = f"EXPLAIN {verification._FORGET['postgresql']}"

    def explained(transaction: Transaction) -> str:
        return "\n".join(line for (line,) in transaction.execute(sql, {"until": 500, "limit": 25}).fetchall())

    async def plans() -> list[str]:
        return [await store.database.write(explained, durable=False, heavy=is_heavy) for is_heavy in (False, True)]

    carelessly, plan = run(plans())
    assert "Sort" in carelessly, "what is guarded against does not happen here"
    assert "Sort" not in plan
    assert "Bitmap" not in plan


def test_a_reservation_that_is_taken_over_meanwhile_stays(store: Store, url: str) -> None:
    async def scenario() -> None:
        assert await store.idempotency.begin("key", "first", NOW - 2 * RETENTION) is None
        with psycopg.connect(url) as other:
            other.execute("UPDATE idempotency_keys SET fingerprint = 'second', begun_at = %s", [micros(NOW)])
            forgetting = asyncio.ensure_future(store.idempotency.forget(NOW, limit=9))
            # One that waits has the same row in its hands when the other is done.
            await done_or_waiting(forgetting, other)
        assert await forgetting == 0
        kept = await store.idempotency.begin("key", "second", NOW)
        assert kept is not None
        assert kept.fingerprint == "second"

    run(scenario())


CHANGES = ["SELECT 1 FROM timeline FOR UPDATE", "UPDATE timeline SET code = 'changed'"]


@pytest.mark.parametrize("change", CHANGES)
def test_sweep_waits_for_the_erasure(store: Store, url: str, change: str) -> None:
    async def scenario() -> None:
        entry = TimelineEntry(NOW, "proof.generated", "done", "key:v", None, HANA, "did:x:aki")
        await write_rows(store, [entry], durable=True)
        with psycopg.connect(url) as other:
            other.execute(change)
            erasing = asyncio.ensure_future(stored(store).erase("timeline", HANA, limit=9))
            await done_or_waiting(erasing, other)
            assert not erasing.done(), "it was told that nothing is left"
        assert await erasing == 1

    run(scenario())
