"""Idempotency keys: one runs, the others wait for its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from identity_codec.values import replace
from identity_core.errors import RequestInProgress
from identity_core.ports.activity import IdempotencyRecord, StoredAnswer
from identity_core.ports.repositories import ChallengeUseRow
from identity_core.store import Store

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
USE = ChallengeUseRow(bytes(32), bytes(32), 1, NOW)
ANSWER = StoredAnswer(201, (("ETag", '"1"'), ("Cache-Control", "no-store")), b"\0sealed\xff")


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(scenario)


def test_first_runs_second_sees_it_running_and_third_answer(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        assert await keys.begin("k", "f", NOW) is None
        assert await keys.begin("k", "other", NOW) == IdempotencyRecord("f", None)
        await keys.complete("k", NOW, ANSWER, NOW)
        assert await keys.begin("k", "f", NOW) == IdempotencyRecord("f", ANSWER)
        assert await keys.begin("another", "f", NOW) is None

    run(scenario())


def test_one_of_64_concurrent_starts_runs(store: Store) -> None:
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


def test_all_leases_end_and_answers_stay(store: Store) -> None:
    """A process that starts alone repeats requests of dead processes at once, with their intents."""

    async def scenario() -> None:
        keys, soon = store.idempotency, NOW + timedelta(seconds=1)
        for name in ("k", "intended", "answered"):
            await keys.begin(name, "f", NOW)
        assert await keys.intend("intended", NOW, b"sealed intent")
        await keys.complete("answered", NOW, ANSWER, NOW)
        await keys.release_all(soon)
        assert await keys.begin("k", "g", soon) is None
        assert await keys.begin("intended", "g", soon) == IdempotencyRecord("f", None)
        assert await keys.begin("intended", "f", soon) == IdempotencyRecord("f", None, b"sealed intent")
        assert await keys.begin("answered", "f", soon) == IdempotencyRecord("f", ANSWER)
        # The dead process comes back too late.
        await keys.complete("k", NOW, ANSWER, soon)
        assert await keys.begin("k", "g", soon) == IdempotencyRecord("g", None)

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


def test_intent_goes_to_next_run_of_same_request_only(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        await keys.begin("k", "f", NOW)
        assert await keys.intend("k", NOW, b"sealed intent")
        assert await keys.begin("k", "f", NOW + timedelta(seconds=59)) == IdempotencyRecord("f", None)
        # Failed: free at once, for the same request.
        await keys.abandon("k", NOW)
        soon = NOW + timedelta(seconds=1)
        assert await keys.begin("k", "another body", soon) == IdempotencyRecord("f", None)
        assert await keys.begin("k", "f", soon) == IdempotencyRecord("f", None, b"sealed intent")
        assert await keys.begin("k", "f", soon) == IdempotencyRecord("f", None)
        await keys.complete("k", soon, ANSWER, soon)
        assert await keys.begin("k", "f", soon) == IdempotencyRecord("f", ANSWER)

    run(scenario())


def test_overtaken_run_changes_nothing(store: Store) -> None:
    async def scenario() -> None:
        keys, later = store.idempotency, NOW + timedelta(minutes=2)
        await keys.begin("k", "f", NOW)
        assert await keys.begin("k", "f", later) is None
        assert not await keys.intend("k", NOW, b"of the first")
        await keys.abandon("k", NOW)
        await keys.complete("k", NOW, ANSWER, later)
        assert await keys.begin("k", "f", later) == IdempotencyRecord("f", None)
        # Nor does what it writes together with its answer.
        with pytest.raises(RequestInProgress), keys.completing("k", NOW, lambda _: (ANSWER, later)):
            await store.spent_challenges.spend(USE)
        with keys.completing("k", later, lambda spent: (replace(ANSWER, status=200 + spent), later)):
            assert await store.spent_challenges.spend(USE)
        assert await keys.begin("k", "f", later) == IdempotencyRecord("f", replace(ANSWER, status=201))

    run(scenario())


def test_change_and_answer_are_one_transaction(store: Store) -> None:
    async def scenario() -> None:
        keys = store.idempotency
        await keys.begin("k", "f", NOW)

        def broken(_: object) -> None:
            raise RuntimeError("the answer cannot be shown")

        with pytest.raises(RuntimeError), keys.completing("k", NOW, broken):
            await store.spent_challenges.spend(USE)
        assert await store.spent_challenges.spend(USE), "what was written before the answer is undone with it"
        # Only the first write within the context is followed, and none after it.
        with keys.completing("k", NOW, lambda _: None):
            pass
        assert not await store.spent_challenges.spend(USE)
        assert await keys.begin("k", "f", NOW) == IdempotencyRecord("f", None)

    run(scenario())
