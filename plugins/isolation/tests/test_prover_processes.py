"""Conformance of the prover ``bbs`` in worker processes, and on the threads of an installation without them."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Coroutine, Iterator
from datetime import datetime
from typing import Any

import pytest
from identity_isolation.provers import in_processes
from identity_kit.conformance.prover import ProverConformance

from identity_core.bootstrap import SystemClock
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.plugin.isolation import Isolation
from identity_core.plugin.load import module_source
from identity_core.plugin.manager import PluginManager
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import load


class RunProver:
    """The workers as a plain ``Prover``: the kit has no event loop, so they get one on a thread."""

    def __init__(self, isolation: Isolation | None) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        settings = load(environment={}, overrides={"prover.backend": "bbs"})
        sources = [module_source("identity_prover_bbs")]
        logger = logging.getLogger("identity.tests")
        self._plugins = PluginManager.load(settings, clock=SystemClock(), logger=logger, sources=sources)
        self._plugins.isolation = isolation
        self._workers: ProofWorkers = self._run(self._hired())

    async def _hired(self) -> ProofWorkers:
        workers = self._plugins.proof_workers("bbs", workers=2, deadline_seconds=60.0)
        assert workers is not None
        await self._plugins.proof_workers_settled()
        return workers

    def _run(self, doing: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(doing, self._loop).result(120)

    @property
    def suite(self) -> str:
        return self._workers.suite

    @property
    def predicate_types(self) -> frozenset[str]:
        return self._workers.predicate_types

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        proof: ZkProof = self._run(self._workers.prove(statement, witness, context=context))
        return proof

    def read(self, proof: str) -> PresentedProof:
        presented: PresentedProof = self._run(self._workers.read(proof))
        return presented

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        self._run(self._workers.verify(statement, proof, context=context, now=now))

    def close(self) -> None:
        self._run(self._plugins.close())
        self._loop.call_soon_threadsafe(self._loop.stop)


@pytest.fixture(scope="module", params=[in_processes, None], ids=["processes", "threads"])
def workers(request: pytest.FixtureRequest) -> Iterator[RunProver]:
    made = RunProver(request.param)
    yield made
    made.close()


class TestBbsOfWorkers(ProverConformance):
    rounds = min(50, int(os.environ.get("IDENTITY_ROUNDS", "50")))

    @pytest.fixture
    def prover(self, workers: RunProver) -> RunProver:
        return workers
