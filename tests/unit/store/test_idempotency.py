"""Idempotency keys: one runs, the others wait for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

from identity_core.ports.repositories import IdempotencyRecord, StoredAnswer
from identity_core.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
ANSWER = StoredAnswer(201, (("ETag", '"1"'), ("Cache-Control", "no-store")), b"\0sealed\xff")


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_the_first_runs_the_second_sees_it_running_and_the_third_the_answer(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        assert await keys.begin("k", "f", NOW) is None
        assert await keys.begin("k", "other", NOW) == IdempotencyRecord("f", None)
        await keys.complete("k", NOW, ANSWER, NOW)
        assert await keys.begin("k", "f", NOW) == IdempotencyRecord("f", ANSWER)
        assert await keys.begin("another", "f", NOW) is None

    run(scenario())


def test_of_64_that_begin_one_runs(store: Store) -> None:
    async def scenario() -> None:
        outcomes = await asyncio.gather(*(store.idempotency.begin("k", f"{n}", NOW) for n in range(64)))
        assert outcomes.count(None) == 1

    run(scenario())


def test_an_abandoned_key_is_free_and_an_answered_one_is_not(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        await keys.begin("k", "f", NOW)
        await keys.abandon("k", NOW)
        assert await keys.begin("k", "g", NOW) is None
        await keys.complete("k", NOW, ANSWER, NOW)
        await keys.abandon("k", NOW)
        assert await keys.begin("k", "g", NOW) == IdempotencyRecord("g", ANSWER)

    run(scenario())


def test_a_reservation_whose_process_died_is_taken_over(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        await keys.begin("k", "f", NOW)
        assert await keys.begin("k", "g", NOW + timedelta(seconds=59)) == IdempotencyRecord("f", None)
        assert await keys.begin("k", "g", NOW + timedelta(seconds=60)) is None
        assert await keys.begin("k", "h", NOW + timedelta(seconds=61)) == IdempotencyRecord("g", None)

    run(scenario())


def test_the_first_answer_counts(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        await keys.begin("k", "f", NOW)
        await keys.complete("k", NOW, ANSWER, NOW)
        await keys.complete("k", NOW, StoredAnswer(500, (), b""), NOW)
        assert await keys.begin("k", "f", NOW) == IdempotencyRecord("f", ANSWER)
        await keys.complete("never begun", NOW, ANSWER, NOW)
        assert await keys.begin("never begun", "f", NOW) is None

    run(scenario())


def test_answers_are_kept_for_a_day_and_then_pruned(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        for n in range(20):
            await keys.begin(f"k{n}", "f", NOW)
            await keys.complete(f"k{n}", NOW, ANSWER, NOW)
        assert await keys.begin("k0", "f", NOW + timedelta(hours=23, minutes=59)) is not None
        assert await keys.begin("k0", "f", NOW + timedelta(hours=24)) is None
        for n in range(3):
            await keys.begin(f"new{n}", "f", NOW + timedelta(hours=24))
        count = await store.database.read(lambda tx: tx.execute("SELECT count(*) FROM idempotency_keys").fetchone()[0])
        assert count == 4

    run(scenario())
