"""Presentations through worker processes: what comes back is what the library makes, and what is refused is refused there too."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterator
from datetime import timedelta
from typing import Any

import pytest
from identity_bound_credentials.domain.presentation import Acceptance
from identity_bound_credentials.ports import PresentingProver
from identity_bound_credentials.worker_calls import (
    Held,
    Present,
    ReadPresentation,
    Stated,
    VerifyPresentation,
    present,
    read_presentation,
    verify_presentation,
)
from identity_isolation.calls import Extended, decode_call, encode_call
from identity_isolation.provers import in_processes

from identity_codec.values import replace
from identity_core.bootstrap.ports import SystemClock
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported, ProofInvalid
from identity_core.plugin.load import module_source
from identity_core.plugin.manager import PluginManager
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import load
from tests.presenting import NOW, PLAIN, Holder, Issuer, Scene, ask, target
from tests.transparent_prover import TransparentProver


@pytest.fixture(scope="module", params=[in_processes, None], ids=["processes", "threads"])
def run(
    request: pytest.FixtureRequest,
) -> Iterator[Callable[[Callable[[ProofWorkers], Coroutine[Any, Any, Any]]], Any]]:
    """Runs something with the workers of the prover ``bbs``."""
    loop = asyncio.new_event_loop()
    settings = load(environment={}, overrides={"prover.backend": "bbs"})
    sources = [module_source("identity_prover_bbs")]
    logger = logging.getLogger("identity.tests")
    plugins = PluginManager.load(settings, clock=SystemClock(), logger=logger, sources=sources)
    plugins.isolation = request.param

    async def hired() -> ProofWorkers:
        workers = plugins.proof_workers("bbs", workers=1, deadline_seconds=60.0)
        assert workers is not None
        await plugins.proof_workers_settled()
        return workers

    workers = loop.run_until_complete(hired())
    yield lambda doing: loop.run_until_complete(doing(workers))
    loop.run_until_complete(plugins.close())
    loop.close()


SCENES: dict[str, Callable[[], Scene]] = {
    "consented, valid, not revoked": target,
    "plain": lambda: target(holder=PLAIN),
    "with a pseudonym": lambda: target(pseudonym="https://shop.example/accounts"),
    "without status": lambda: target(status=False),
    "two credentials": lambda: two(),
}


def two() -> Scene:
    header = Issuer().header()
    question = ask((header, ("country", "neq", "DE")), (header, ("balance", "gte", 5)), status=True)
    holder = Holder()
    held = (holder.obtain(Issuer(), header=header), holder.obtain(Issuer(), header=header, handle=3_000_000_007))
    return Scene(question, held)


@pytest.mark.parametrize("make", SCENES.values(), ids=SCENES.keys())
def test_a_presentation_comes_and_goes(run: Any, make: Callable[[], Scene]) -> None:
    scene = make()

    async def story(workers: ProofWorkers) -> None:
        assert workers.extensions == {"bound_credentials"}
        text = await present(workers, scene.statement, scene.witness, bound=scene.bound)
        assert scene.verdict(text) is True, "the library refuses what a worker made"
        presented = await read_presentation(workers, text)
        assert presented.question == scene.question
        assert presented.bound == scene.bound
        statement = presented.statement(scene.keys)
        assert statement == scene.statement
        await verify_presentation(workers, statement, text, bound=presented.bound, acceptance=Acceptance(NOW))
        later = Acceptance(NOW + timedelta(days=1))
        for wrong in (
            {"acceptance": later},
            {"bound": replace(presented.bound, context=replace(presented.context, audience="https://bank.example"))},
        ):
            given = {"bound": presented.bound, "acceptance": Acceptance(NOW)} | wrong
            with pytest.raises(ProofInvalid):
                await verify_presentation(workers, statement, text, **given)  # type: ignore[arg-type]

    run(story)


def test_invalid_presentation_is_refused_by_the_worker(run: Any) -> None:
    header = Issuer().header()
    false = Scene(
        ask((header, ("balance", "gt", "9223372036854775806")), status=True),
        (Holder().obtain(Issuer(), header=header),),
    )

    async def story(workers: ProofWorkers) -> None:
        with pytest.raises(PredicateNotSatisfied):
            await present(workers, false.statement, false.witness, bound=false.bound)
        for text in ("", "AAAA", "not base64url!"):
            with pytest.raises(ProofInvalid):
                await read_presentation(workers, text)

    run(story)


def test_calls_travel_whole() -> None:
    for make in SCENES.values():
        scene = make()
        stated = Stated.from_statement(scene.statement, scene.bound)
        witness = scene.witness
        travelled = decode_call(encode_call(Extended.from_call(Present(stated, Held.from_witness(witness)))))
        assert isinstance(travelled, Extended)
        sent = travelled.parse()
        assert isinstance(sent, Present)
        assert sent.stated.parse() == (scene.statement, scene.bound)
        again = sent.held.parse()
        assert (again.gaps, again.consent) == (witness.gaps, witness.consent)
        for one, other in zip(again.credentials, witness.credentials, strict=True):
            assert (one.signature, one.particulars, one.opening) == (other.signature, other.particulars, other.opening)
            assert dict(one.attributes) == dict(other.attributes)


def test_a_prover_that_does_less_says_so() -> None:
    prover: Any = TransparentProver()
    assert not isinstance(prover, PresentingProver)
    scene = target()
    stated = Stated.from_statement(scene.statement, scene.bound)
    with pytest.raises(PredicateUnsupported):
        Present(stated, Held.from_witness(scene.witness)).ask(prover)
    with pytest.raises(ProofInvalid):
        ReadPresentation("AAAA").ask(prover)
    with pytest.raises(ProofInvalid):
        VerifyPresentation(stated, "AAAA", Acceptance(NOW)).ask(prover)
