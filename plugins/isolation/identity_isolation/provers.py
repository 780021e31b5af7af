"""The prover's port on worker processes, with its bulkhead around it."""

from __future__ import annotations

import asyncio
import logging
import os
from typing import TYPE_CHECKING, Any, Final

from identity_core.errors import PluginUnavailable
from identity_core.plugin.border import Bulkhead, Fault, guard
from identity_core.plugin.build import Built
from identity_core.plugin.load import Offer
from identity_core.plugin.sockets import PROVER, Socket
from identity_core.ports.prover import ProofWorkers, ProverCall
from identity_core.ports.securing import Disclosed, KeyBinding, Secured, SecuredHead, SecuringFormat
from identity_core.settings import Settings
from identity_isolation.calls import AskFormat, Extended, Prove, Read, Single, Verify
from identity_isolation.messages import Failed, Raised, Ready, Returned
from identity_isolation.pool import Pool
from identity_isolation.worker import Order

if TYPE_CHECKING:
    from datetime import datetime

    from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof

# A longer answer is parsed on a thread: a set of 4,096 takes ten milliseconds, which would block the event loop.
LONG_ANSWER_OCTETS: Final = 8_192

# Below the server, so that proofs never delay a resolution.
NICE: Final = 10

# Below the proofs: unauthenticated clients get the processor time that remains.
ANONYMOUS_NICE: Final = 15


class Processes:
    """A plugin in worker processes, without its bulkhead. The workers start with ``pool.begin``, or with the first
    call."""

    def __init__(self, order: Order, bulkhead: Bulkhead, *, workers: int) -> None:
        self._bulkhead = bulkhead
        seconds = bulkhead.limits.deadline_seconds
        self.pool = Pool(order, size=workers, deadline_seconds=seconds, logger=bulkhead.logger)

    async def close(self) -> None:
        """End the workers and accept no more calls."""
        await self.pool.close()

    async def _ask(self, call: Single) -> Any:
        match await self.pool.call(call):
            case Returned(value):
                data = bytes(value)
                if len(data) > LONG_ANSWER_OCTETS:
                    return await asyncio.to_thread(call.read, data)
                return call.read(data)
            case Raised() as refusal:
                raise refusal.read(self._bulkhead.contract.errors)
            case Failed(reason):
                raise Fault(reason or "failed and cannot say how")


class ProverProcesses(Processes):
    """Implementation of ``ports.prover.ProofWorkers`` with worker processes."""

    @property
    def suite(self) -> str:
        """Return the suite of the prover. Raises ``PluginUnavailable``: before a worker is ready."""
        return self._require_ready().suite

    @property
    def predicate_types(self) -> frozenset[str]:
        """Return the predicate types. Raises ``PluginUnavailable``: before a worker is ready."""
        return self._require_ready().predicate_types

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        """Return a proof that a worker makes."""
        proof: ZkProof = await self._ask(Prove(statement, witness.signature, dict(witness.attributes), context))
        return proof

    async def read(self, proof: str) -> PresentedProof:
        """Return the unverified content, read in a worker."""
        presented: PresentedProof = await self._ask(Read(proof))
        return presented

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        """Verify a proof in a worker."""
        await self._ask(Verify(statement, proof, context, now))

    @property
    def extensions(self) -> frozenset[str]:
        """Return the extensions whose calls the prover takes. Raises ``PluginUnavailable``: before a worker is ready."""
        return self._require_ready().extensions

    async def ask(self, call: ProverCall) -> Any:
        """Return the result of a call of an extension, run in a worker."""
        return await self._ask(Extended.from_call(call))

    def _require_ready(self) -> Ready:
        if self.pool.ready is None:
            raise PluginUnavailable(details={"plugin": self._bulkhead.name, "retryAfter": 1})
        return self.pool.ready


class SecuringProcesses(Processes):
    """The methods of ``ports.securing.SecuringFormat`` that read untrusted input, run in workers. The format is also
    built in this process: it provides the name and computes the proofs that this service issues."""

    name = ""

    async def read(self, secured: Secured) -> SecuredHead:
        """Return the unverified content, read in a worker."""
        head: SecuredHead = await self._ask(AskFormat(_sent(secured)))
        return head

    async def verify(self, secured: Secured, public_key: str, *, binding: KeyBinding | None = None) -> Disclosed:
        """Verify a secured credential in a worker."""
        disclosed: Disclosed = await self._ask(AskFormat(_sent(secured), public_key, binding))
        return disclosed


def _sent(secured: Secured) -> str | dict[str, Any]:
    return secured if isinstance(secured, str) else dict(secured)


def in_processes(
    socket: Socket[Any], offer: Offer, bulkhead: Bulkhead, settings: Settings, anonymous: bool, workers: int
) -> Built:
    """Return the prover, or the verifier of a format, in ``workers`` processes behind its bulkhead. Call it in the
    event loop that will use them.

    Provers for authenticated callers start at once in the background, all others with their first call.

    ``anonymous``: for unauthenticated clients. Such workers share neither queue nor circuit with the others, and get
    the processor time that the others leave.
    Raises ``PluginError``: when it cannot be built.
    """
    order = _order(offer, settings, ANONYMOUS_NICE if anonymous else NICE, bulkhead.logger)
    make, port = (ProverProcesses, ProofWorkers) if socket is PROVER else (SecuringProcesses, SecuringFormat)
    made = make(order, bulkhead, workers=workers)
    if socket is PROVER and not anonymous:
        made.pool.begin()
    return Built(offer, made, guard(made, port, bulkhead), bulkhead, made.pool)


def _order(offer: Offer, settings: Settings, niceness: int, logger: logging.Logger) -> Order:
    source, provider = offer.source, offer.provider
    if not source.reference:
        raise source.error(f"{provider.name} lives in this process only, so no worker process can build it")
    return Order(
        source=source,
        hook=offer.hook,
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
