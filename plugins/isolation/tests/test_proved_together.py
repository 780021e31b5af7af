"""Waiting proofs are made one after the other and answered together. A failing one costs no other its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest
from identity_isolation.calls import ProveTogether

from identity_core.errors import Overloaded, PluginTimeout, PluginUnavailable, PredicateNotSatisfied
from plugins.isolation.tests.crew import Crew, Sizes, crew, until


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    return Sizes(monkeypatch, ProveTogether)


async def together(at: Crew, vices: Sequence[str]) -> list[object]:
    """Return each result as its proof's id or the class of its error. One more proof keeps the worker while these wait."""
    at.is_quick()
    _, *ended = await asyncio.gather(
        at.prove(), *(at.prove(vice, f"p{n}") for n, vice in enumerate(vices)), return_exceptions=True
    )
    return [type(one) if isinstance(one, BaseException) else getattr(one, "proof_id", one) for one in ended]


def test_each_has_its_own_answer(sizes: Sizes) -> None:
    async def story() -> None:
        async with crew() as at:
            found = await together(at, ["", "not-satisfied", "", "raise", "junk", "overloaded", "", "system-exit"])
            unfit = PluginUnavailable
            assert found == ["p0", PredicateNotSatisfied, "p2", unfit, unfit, Overloaded, "p6", unfit]
            assert at.worker_table.restarts == 0

    asyncio.run(story())
    assert sizes.seen == [8]


@pytest.mark.parametrize("place", [2, *(pytest.param(place, marks=pytest.mark.nightly) for place in (0, 4))])
@pytest.mark.parametrize("vice", ["exit", "segv", "kill", "huge", "shut"])
def test_a_death_costs_its_own_call(vice: str, place: int, sizes: Sizes) -> None:
    async def story() -> None:
        async with crew() as at:
            found = await together(at, [vice if n == place else "" for n in range(5)])
            assert found == [PluginUnavailable if n == place else f"p{n}" for n in range(5)]

    asyncio.run(story())
    # What was lost together is asked alone.
    assert sizes.seen == [5]


@pytest.mark.parametrize("vice", ["spin", "hold", "stop"])
def test_a_hang_costs_its_own_call(vice: str, sizes: Sizes, tmp_path: object) -> None:
    async def story() -> None:
        async with crew(plugins__vicious__scratch=str(tmp_path)) as at:
            with at.deadline(4.0):
                found = await together(at, ["", "", vice, "", ""])
            assert found == ["p0", "p1", PluginTimeout, "p3", "p4"]
            await until(lambda: at.worker_table.up == 1)
            assert (await at.prove("", "next")).proof_id == "next"

    asyncio.run(story())
    assert sizes.seen == [5]


def test_a_slow_prover_makes_each_by_itself(sizes: Sizes) -> None:
    async def story() -> None:
        async with crew() as at:
            await asyncio.gather(*(at.prove("slow") for _ in range(4)))

    asyncio.run(story())
    assert sizes.seen == []


def test_workers_share_what_waits_and_a_share_has_a_limit(sizes: Sizes) -> None:
    async def story() -> None:
        async with crew(workers=2) as at:
            await until(lambda: at.worker_table.up == 2)
            at.is_quick()
            made = await asyncio.gather(*(at.prove("", f"p{n}") for n in range(62)))
            assert [one.proof_id for one in made] == [f"p{n}" for n in range(62)]

    asyncio.run(story())
    assert len(sizes.seen) > 2
    assert max(sizes.seen) == 16


def test_a_caller_who_goes_away_costs_no_other_its_answer(sizes: Sizes) -> None:
    async def story() -> None:
        async with crew() as at:
            at.is_quick()
            tasks = [asyncio.create_task(at.prove("slow" if n == 1 else "", f"p{n}")) for n in range(4)]
            await until(lambda: bool(sizes.seen))
            tasks[2].cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            assert isinstance(ended[2], asyncio.CancelledError)
            assert [getattr(ended[n], "proof_id", ended[n]) for n in (0, 1, 3)] == ["p0", "p1", "p3"]
            assert (await at.prove("", "next")).proof_id == "next"
            assert at.worker_table.restarts == 0

    asyncio.run(story())
    assert sizes.seen == [3]
