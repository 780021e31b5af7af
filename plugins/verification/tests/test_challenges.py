"""Deletion of used challenges of verifiers, without a request."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

from identity_verification.ports import VerifierChallenge
from identity_verification.store import StoredVerifierChallenges

from identity_core.store import Store
from identity_core.use_cases.background import ForgetRows
from tests.did_use_cases import START, MovableClock

DAY = timedelta(days=1)


def test_used_challenge_is_kept_until_proof_expires(tmp_path: Path) -> None:
    async def scenario() -> None:
        store, clock = Store.open(tmp_path), MovableClock()
        challenges, end = StoredVerifierChallenges(store.database), START + timedelta(hours=1)
        for text in ("spent", "open"):
            await challenges.add(text, VerifierChallenge("did:a", "https://a.example", end, spent=False), START)
        assert await challenges.spend("spent", START)
        clock.time = end + DAY - timedelta(seconds=1)
        await ForgetRows(challenges.forget, clock, DAY).step()
        assert await challenges.find("spent") is not None
        clock.time = end + DAY
        await ForgetRows(challenges.forget, clock, DAY).step()
        assert await challenges.find("spent") is None
        assert await challenges.find("open") is not None, "the next challenge that is asked for takes it away"
        await store.close()

    asyncio.run(scenario())


def test_spent_challenges_of_verifiers_go_step_by_step(tmp_path: Path) -> None:
    async def scenario() -> None:
        store, clock = Store.open(tmp_path), MovableClock()
        challenges, end = StoredVerifierChallenges(store.database), START + timedelta(hours=1)
        for number in range(501):
            await challenges.add(str(number), VerifierChallenge("did:a", "https://a.example", end, spent=False), START)
            await challenges.spend(str(number), START)
        clock.time = end + DAY
        sweep, waits = ForgetRows(challenges.forget, clock, DAY), list[float]()
        while not waits or waits[-1] < 1:
            waits.append(await sweep.step())
        assert 2 < len(waits) < 30, "a step takes a part, and the next one more"
        await store.close()

    asyncio.run(scenario())
