"""The prover's port on worker processes, and its bulkhead around it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from identity_core.errors import PluginUnavailable
from identity_core.plugin.border import Bulkhead, Fault, guard
from identity_core.plugin.build import Built
from identity_core.plugin.limits import Limits
from identity_core.plugin.load import Offer
from identity_core.plugin.processes.channel import (
    Failed,
    Prove,
    Raised,
    Read,
    Ready,
    Returned,
    Single,
    Verify,
)
from identity_core.plugin.processes.pool import Pool
from identity_core.plugin.processes.presenting import (
    Accepted,
    Held,
    Present,
    ReadPresentation,
    Stated,
    VerifyPresentation,
)
from identity_core.plugin.processes.worker import Order
from identity_core.plugin.provider import PluginError
from identity_core.plugin.sockets import PROVER
from identity_core.ports.clock import Clock
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import Settings
from identity_core.tracing import Tracing

if TYPE_CHECKING:
    from datetime import datetime

    from identity_core.domain.proofs.presentation import (
        Acceptance,
        PresentationContext,
        PresentationStatement,
        PresentationWitness,
    )
    from identity_core.domain.proofs.presented import PresentedPresentation
    from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof

WAITING_PER_WORKER: Final = 256
"""Unfinished calls for each worker; a proof takes milliseconds, so the last of them waits for about a second."""

LONG_ANSWER_OCTETS: Final = 8_192
"""An answer of more is read on a thread: a set of 4,096 takes ten milliseconds, in which the event loop would stand still."""

PATIENCE_SECONDS: Final = 5.0
"""How long a start waits for a prover that no setting names; it is up in less than the server's own start takes."""

NICE: Final = 10
"""Below the server, so that proofs never hold up a resolution."""

ANONYMOUS_NICE: Final = 15
"""Below the proofs: strangers get what no one else wants."""


class ProverProcesses:
    """``ports.prover.ProofWorkers``, to be put behind its bulkhead. The workers start with ``pool.begin``, or with the first call."""

    def __init__(self, order: Order, bulkhead: Bulkhead, *, workers: int, logger: logging.Logger) -> None:
        self._bulkhead = bulkhead
        self._logger = logger
        deadline_seconds = bulkhead.limits.deadline_seconds
        self.pool = Pool(order, size=workers, deadline_seconds=deadline_seconds, logger=logger)

    async def settled(self, *, named: bool) -> None:
        """Returns when it is known whether the prover can be had, at once for workers that have not begun. A prover that settings name
        must be; one that is just installed is waited for a moment, and may come up later or fail without stopping the start. Raises
        ``PluginError``."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(None if named else PATIENCE_SECONDS):
                await self.pool.told()
        table = self.pool.worker_table
        if table.trouble and named:
            raise PluginError(table.trouble)
        if table.trouble and not table.waits:
            self._logger.error("the prover failed: %s", table.trouble)

    @property
    def suite(self) -> str:
        return self._known().suite

    @property
    def predicate_types(self) -> frozenset[str]:
        return self._known().predicate_types

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        proof: ZkProof = await self._ask(Prove(statement, witness.signature, dict(witness.attributes), context))
        return proof

    async def read(self, proof: str) -> PresentedProof:
        presented: PresentedProof = await self._ask(Read(proof))
        return presented

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        await self._ask(Verify(statement, proof, context, now))

    @property
    def presents(self) -> bool:
        return self._known().presents

    async def present(
        self, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
    ) -> str:
        text: str = await self._ask(Present(Stated.of(statement, bound), Held.of(witness)))
        return text

    async def read_presentation(self, text: str) -> PresentedPresentation:
        presented: PresentedPresentation = await self._ask(ReadPresentation(text))
        return presented

    async def verify_presentation(
        self, statement: PresentationStatement, text: str, *, bound: PresentationContext, acceptance: Acceptance
    ) -> None:
        await self._ask(VerifyPresentation(Stated.of(statement, bound), text, Accepted.of(acceptance)))

    async def close(self) -> None:
        """Ends the workers, and takes no more calls."""
        await self.pool.close()

    async def _ask(self, call: Single) -> Any:
        match await self.pool.call(call):
            case Returned(value):
                octets = bytes(value)
                if len(octets) > LONG_ANSWER_OCTETS:
                    return await asyncio.to_thread(call.read, octets)
                return call.read(octets)
            case Raised() as refusal:
                raise refusal.read(self._bulkhead.contract.errors)
            case Failed(reason):
                raise Fault(reason or "failed and cannot say how")

    def _known(self) -> Ready:
        if self.pool.ready is None:
            raise PluginUnavailable(details={"plugin": self._bulkhead.name, "retryAfter": 1})
        return self.pool.ready


def in_processes(
    offer: Offer,
    settings: Settings,
    *,
    anonymous: bool,
    workers: int,
    limits: Limits,
    clock: Clock,
    logger: logging.Logger,
    tracing: Tracing | None,
) -> Built:
    """The prover in ``workers`` processes, behind its bulkhead; to be called in the event loop that will use them. They start at once and
    are not waited for. Raises ``PluginError``.

    ``anonymous`` ones, for what strangers have verified, are started by the first of them. They share nothing with the others but the
    machine: neither queue nor circuit, and of the processor they get what is left.
    """
    in_flight = min(limits.calls_in_flight, workers * WAITING_PER_WORKER)
    if anonymous:
        in_flight = settings.prover.anonymous_waiting
    name = f"prover:{offer.provider.name}" + (":anonymous" if anonymous else "")
    limits = replace(limits, calls_in_flight=in_flight)
    bulkhead = Bulkhead(name, limits, PROVER.contract, clock, logger, tracing=tracing)
    order = _order(offer, settings, ANONYMOUS_NICE if anonymous else NICE, logger)
    prover = ProverProcesses(order, bulkhead, workers=workers, logger=logger)
    if not anonymous:
        prover.pool.begin()
    return Built(offer, prover, guard(prover, ProofWorkers, bulkhead), bulkhead, prover)


def _order(offer: Offer, settings: Settings, niceness: int, logger: logging.Logger) -> Order:
    source, provider = offer.source, offer.provider
    if not source.reference:
        raise source.error(f"the prover {provider.name} lives in this process only, so no worker process can build it")
    return Order(
        source=source,
        provider=provider.name,
        tables=settings.plugins.tables.only(provider.name, provider.settings),
        data_dir=settings.data_dir,
        servers=settings.server.workers,
        import_seconds=settings.plugins.import_seconds,
        memory_mebibytes=settings.prover.memory_mebibytes,
        environment=settings.prover.environment,
        niceness=niceness,
        log_level=logger.getEffectiveLevel(),
        parent=os.getpid(),
    )
