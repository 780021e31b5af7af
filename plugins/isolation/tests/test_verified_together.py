"""Proofs that wait for a worker are verified with one product of pairings: false ones are found, and cost no other its answer."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from identity_bound_credentials.domain.presentation import Acceptance
from identity_bound_credentials.worker_calls import read_presentation, verify_presentation
from identity_isolation.calls import ReadTogether, VerifyTogether
from identity_isolation.provers import in_processes
from identity_kit.conformance import prover_cases as first
from identity_prover_bbs import BbsProver

from identity_bbs import core
from identity_bbs.bls12381 import select
from identity_codec.values import replace
from identity_core.bootstrap.ports import SystemClock
from identity_core.domain.proofs.proof import ZkProof
from identity_core.errors import IdentityError, PluginUnavailable, ProofInvalid
from identity_core.plugin.load import module_source
from identity_core.plugin.manager import PluginManager
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import load
from plugins.isolation.tests.crew import STATEMENT, Sizes, context, crew
from tests.attack.test_presentation_soundness import forge, scene
from tests.presenting import NOW

Ask = Callable[[ProofWorkers], Awaitable[None]]
BATCHES = "tests.fault.vicious_batches"


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    return Sizes(monkeypatch, VerifyTogether)


@pytest.fixture
def sizes_of_reads(monkeypatch: pytest.MonkeyPatch) -> Sizes:
    return Sizes(monkeypatch, ReadTogether)


@pytest.fixture(scope="module")
def run() -> Iterator[Callable[[Callable[[ProofWorkers], Awaitable[Any]]], Any]]:
    """Runs something with one worker of the prover ``bbs``."""
    loop = asyncio.new_event_loop()
    settings = load(environment={}, overrides={"prover.backend": "bbs"})
    sources = [module_source("identity_prover_bbs")]
    plugins = PluginManager.load(
        settings, clock=SystemClock(), logger=logging.getLogger("identity.tests"), sources=sources
    )
    plugins.isolation = in_processes

    async def ready() -> ProofWorkers:
        workers = plugins.proof_workers("bbs", workers=1, deadline_seconds=60.0)
        assert workers is not None
        await plugins.proof_workers_settled()
        return workers

    workers = loop.run_until_complete(ready())
    yield lambda doing: loop.run_until_complete(doing(workers))  # type: ignore[arg-type]
    loop.run_until_complete(plugins.close())
    loop.close()


def of_suite_1(name: str, *, forged: bool = False) -> Ask:
    """A proof under the key of ``name``; a forged one is right in everything but its pairing, because another signed the credential."""
    issuer, prover = first.BbsIssuer(name), BbsProver(select(), os.urandom)
    asked = first.statement(issuer.key, ("country", "eq", "JP"))
    witness = (first.BbsIssuer("mallory") if forged else issuer).credential(first.SCHEMA, first.HANA)
    with pytest.MonkeyPatch.context() as patch:
        if forged:
            patch.setattr(core, "core_verify", lambda *given: None)
            patch.setattr(core, "verify_point", lambda *given: None)
        made = prover.prove(asked, witness, context=first.context())
    return lambda workers: workers.verify(asked, made, context=first.context(), now=first.NOW)


def of_suite_2(*, forged: bool = False) -> Ask:
    """Return a presentation; in a forged one the gap is unsigned, which only its pairings show."""
    asked = scene(status=True)
    text = asked.prove()
    if forged:
        text = forge(asked, lambda messages: messages[1].__setitem__(slice(0, 2), (0, (1 << 32) - 1)))
    return lambda workers: verify_presentation(
        workers, asked.statement, text, bound=asked.bound, acceptance=Acceptance(NOW)
    )


def of_another_context() -> Ask:
    """A presentation that says something else of itself than is asked."""
    asked = scene(status=True)
    bound = replace(asked.bound, context=replace(asked.context, proof_id="another"))
    text = asked.prove()
    return lambda workers: verify_presentation(workers, asked.statement, text, bound=bound, acceptance=Acceptance(NOW))


async def verdict(asked: Awaitable[None]) -> tuple[Any, ...] | None:
    try:
        await asked
    except IdentityError as refused:
        return type(refused), str(refused), refused.details
    return None


async def together(workers: ProofWorkers, asked: Sequence[Ask]) -> list[tuple[Any, ...] | None]:
    """The verdicts; one more goes ahead and keeps the worker, while these wait."""
    ahead, *found = await asyncio.gather(*(verdict(one(workers)) for one in (asked[0], *asked)))
    assert ahead == found[0]
    return found


GOOD = [of_suite_1("ivo"), of_suite_2(), of_suite_1("ines"), of_suite_2()] * 4
BAD = [
    of_suite_1("ivo", forged=True),
    of_suite_2(forged=True),
    of_suite_1("ines", forged=True),
    of_another_context(),
] * 4


def test_bad_proof_is_found_at_each_position(run: Any, sizes: Sizes) -> None:
    async def story(workers: ProofWorkers) -> None:
        alone = {number: await verdict(BAD[number](workers)) for number in range(4)}
        assert {found and found[0] for found in alone.values()} == {ProofInvalid}
        for place in range(8):
            found = await together(workers, [BAD[n] if n == place else GOOD[n] for n in range(8)])
            assert found == [alone[n % 4] if n == place else None for n in range(8)]

    run(story)
    assert sizes.seen == [8] * 8


@pytest.mark.parametrize("bad", [(), (3, 8, 9, 15), tuple(range(16))], ids=str)
def test_several_bad_ones_get_what_each_would_get_alone(run: Any, sizes: Sizes, bad: tuple[int, ...]) -> None:
    async def story(workers: ProofWorkers) -> None:
        found = await together(workers, [BAD[n] if n in bad else GOOD[n] for n in range(16)])
        assert found == [await verdict(BAD[n](workers)) if n in bad else None for n in range(16)]

    run(story)
    assert sizes.seen == [16]


def test_one_that_waits_alone_goes_alone(run: Any, sizes: Sizes) -> None:
    async def story(workers: ProofWorkers) -> None:
        for _ in range(3):
            assert await verdict(GOOD[0](workers)) is None

    run(story)
    assert sizes.seen == []


def plain(text: str) -> Ask:
    proof = ZkProof(text, (), "gte", "p1")
    return lambda workers: workers.verify(STATEMENT, proof, context=context(), now=datetime.now(UTC))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deadly", PluginUnavailable),
        ("raises", None),
        ("short", None),
        ('{"type":"Ended","outcomes":[]}', None),
        ('{"type":"Returned","value":null}', None),
        ('{"type":"Ended","outcomes":[{"type":"Line","text":"a","level":"INFO"}]}', None),
    ],
)
def test_failed_batch_is_verified_one_by_one(text: str, expected: type[IdentityError] | None, sizes: Sizes) -> None:
    """A process that dies, a failure, and answers that are none or too few."""

    async def story() -> None:
        async with crew(reference=BATCHES) as at:
            asked = [plain(one) for one in ("good", "bad", text, "good", "bad")]
            found = await together(at.port, asked)
            assert [one and one[0] for one in found] == [None, ProofInvalid, expected, None, ProofInvalid]
            # Alone it says so in other words.
            assert all(one[2] == {"reason": "it is bad"} for one in (found[1], found[4]) if one is not None)

    asyncio.run(story())
    assert sizes.seen == [5]


def test_workers_share_what_waits_and_a_share_has_a_limit(sizes: Sizes) -> None:
    async def story() -> None:
        async with crew(reference=BATCHES, workers=2) as at:
            while at.worker_table.up < 2:
                await asyncio.sleep(0.01)
            found = await asyncio.gather(*(verdict(plain("good")(at.port)) for _ in range(62)))
            assert found == [None] * 62

    asyncio.run(story())
    assert sizes.seen[0] == 16
    assert max(sizes.seen) == 16
    assert len(sizes.seen) > 2


def reads(text: str, *, suite: int = 1) -> Ask:
    async def ask(workers: ProofWorkers) -> None:
        await (workers.read(text) if suite == 1 else read_presentation(workers, text))

    return ask


def test_proofs_to_read_go_together_and_each_has_its_own_answer(run: Any, sizes_of_reads: Sizes) -> None:
    issuer, prover, presented = first.BbsIssuer("ivo"), BbsProver(select(), os.urandom), scene(status=True)
    asked = first.statement(issuer.key, ("country", "eq", "JP"))
    made = prover.prove(asked, issuer.credential(first.SCHEMA, first.HANA), context=first.context())
    every = [
        reads(made.proof),
        reads("no proof"),
        reads(presented.prove(), suite=2),
        reads(made.proof[:-4] + "AAAA"),
    ] * 4
    changed = [reads("no proof"), *every[1:]]

    async def story(workers: ProofWorkers) -> None:
        for texts in (every, changed):
            alone = [await verdict(one(workers)) for one in texts]
            assert [one and one[0] for one in alone[1:4]] == [ProofInvalid, None, ProofInvalid]
            assert await together(workers, texts) == alone
        again = await asyncio.gather(*(workers.read(made.proof) for _ in range(5)))
        assert [one.context for one in again] == [first.context()] * 5

    run(story)
    assert sizes_of_reads.seen == [16, 16, 4]


def test_a_proof_that_kills_its_reader_costs_no_other_its_answer(sizes_of_reads: Sizes) -> None:
    async def story() -> None:
        async with crew(reference=BATCHES) as at:
            found = await together(at.port, [reads(one) for one in ("good", "bad", "deadly", "good")])
            assert [one and one[0] for one in found] == [None, ProofInvalid, PluginUnavailable, None]

    asyncio.run(story())
    assert sizes_of_reads.seen == [4]
