"""From an offer to a prover in worker processes, behind its bulkhead."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from typing import Final

from identity_core.plugin.build import Built
from identity_core.plugin.bulkhead import Bulkhead, Limits, guarded
from identity_core.plugin.collect import Offer
from identity_core.plugin.errors import PluginError
from identity_core.plugin.processes.order import Order
from identity_core.plugin.processes.prover import WAITING_PER_WORKER, ProverProcesses
from identity_core.plugin.sockets import prover_socket
from identity_core.ports.clock import Clock
from identity_core.ports.prover import ProofWorkers
from identity_core.settings import Settings

PATIENCE_SECONDS: Final = 5.0
"""How long a start waits for a prover that no setting names; it is up in less than the server's own start takes."""

NICE: Final = 10
"""Below the server, so that proofs never hold up a resolution."""

ANONYMOUS_NICE: Final = 15
"""Below the proofs: strangers get what nobody else wants."""


def start_workers(
    offer: Offer, settings: Settings, *, workers: int, deadline_seconds: float, clock: Clock, logger: logging.Logger
) -> Built:
    """Starts the workers and waits for none; to be called in the event loop that will use them. Raises ``PluginError``."""
    order = _order(offer, settings, NICE, logger)
    in_flight = min(settings.plugins.calls_in_flight, workers * WAITING_PER_WORKER)
    bulkhead = _bulkhead(f"prover:{order.provider}", settings, deadline_seconds, in_flight, clock, logger)
    prover = ProverProcesses(order, bulkhead, workers=workers, logger=logger)
    prover.begin()
    return Built(offer, prover, guarded(prover, ProofWorkers, bulkhead), bulkhead, prover)


def start_anonymous_workers(
    offer: Offer, settings: Settings, *, deadline_seconds: float, clock: Clock, logger: logging.Logger
) -> Built:
    """One worker for what strangers have verified, started by the first of them. It shares nothing with the others but the machine:
    neither queue nor circuit, and of the processor it gets what they leave. Raises ``PluginError``."""
    order = _order(offer, settings, ANONYMOUS_NICE, logger)
    in_flight = settings.prover.anonymous_waiting
    bulkhead = _bulkhead(f"prover:{order.provider}:anonymous", settings, deadline_seconds, in_flight, clock, logger)
    prover = ProverProcesses(order, bulkhead, workers=1, logger=logger)
    return Built(offer, prover, guarded(prover, ProofWorkers, bulkhead), bulkhead, prover)


def _order(offer: Offer, settings: Settings, niceness: int, logger: logging.Logger) -> Order:
    source, provider = offer.source, offer.provider
    name = provider.name
    if not source.reference:
        raise source.error(f"the prover {name} lives in this process only, so no worker process can build it")
    plugins = settings.plugins
    return Order(
        source=source.name,
        reference=source.reference,
        distribution=source.distribution,
        version=source.version,
        provider=name,
        tables=plugins.tables.only(name, provider.settings),
        data_dir=settings.data_dir,
        servers=settings.server.workers,
        import_seconds=plugins.import_seconds,
        memory_mebibytes=settings.prover.memory_mebibytes,
        environment=settings.prover.environment,
        niceness=niceness,
        log_level=logger.getEffectiveLevel(),
        parent=os.getpid(),
    )


def _bulkhead(
    name: str, settings: Settings, deadline_seconds: float, in_flight: int, clock: Clock, logger: logging.Logger
) -> Bulkhead:
    plugins = settings.plugins
    limits = Limits(deadline_seconds, in_flight, plugins.failures_to_open, plugins.retry_seconds)
    return Bulkhead(name, limits, prover_socket().contract, clock, logger)


async def settle(prover: ProverProcesses, *, named: bool, logger: logging.Logger) -> None:
    """Waits until it is known whether the prover can be had. A prover that settings name must be; one that is just installed is
    waited for a moment, and may come up later or fail without stopping the start. Raises ``PluginError``."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(None if named else PATIENCE_SECONDS):
            await prover.told()
    trouble = prover.worker_table.trouble
    if trouble and named:
        raise PluginError(trouble)
    if trouble and not prover.worker_table.waits:
        logger.error("the prover failed: %s", trouble)
