"""The prover's port on worker processes, and its bulkhead around it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any, Final

from identity_core.codec import strict_json
from identity_core.errors import PluginUnavailable
from identity_core.plugin.bulkhead import Bulkhead, Fault
from identity_core.plugin.processes import frames, wire
from identity_core.plugin.processes.order import Order
from identity_core.plugin.processes.pool import Pool, WorkerTable
from identity_core.plugin.processes.wire import AnswerRefused

if TYPE_CHECKING:
    from datetime import datetime

    from identity_core.domain.proof import Context, PresentedProof, Statement, Witness, ZkProof

WAITING_PER_WORKER: Final = 256
"""Unfinished calls for each worker; a proof takes milliseconds, so the last of them waits for about a second."""

LONG_ANSWER_OCTETS: Final = 8_192
"""An answer of more is read on a thread: a set of 4,096 takes ten milliseconds, in which the event loop would stand still."""

_LONGEST_SUITE: Final = 200
_MOST_TYPES: Final = 100


class ProverProcesses:
    """``ports.prover.ProofWorkers``, to be put behind its bulkhead. The workers start at ``begin``, or else at the first call."""

    def __init__(self, order: Order, bulkhead: Bulkhead, *, workers: int, logger: logging.Logger) -> None:
        self._order = order
        self._bulkhead = bulkhead
        self._workers = workers
        self._logger = logger
        self._suite = ""
        self._predicate_types: frozenset[str] = frozenset()
        self._pool: Pool | None = None
        self._closed = False

    def begin(self) -> Pool:
        """Starts the workers if they are not, and waits for none."""
        if self._pool is None:
            deadline = self._bulkhead.limits.deadline_seconds
            self._pool = Pool(
                self._order,
                size=self._workers,
                deadline_seconds=deadline,
                logger=self._logger,
                hello=self._hello,
            )
        return self._pool

    @property
    def worker_table(self) -> WorkerTable:
        """The workers in numbers: none are wanted before they begin."""
        return WorkerTable(0, 0, 0, "", waits=False) if self._pool is None else self._pool.worker_table

    async def told(self) -> None:
        """See ``Pool.told``; returns at once for workers that have not begun."""
        if self._pool is not None:
            await self._pool.told()

    @property
    def suite(self) -> str:
        self._must_be_known()
        return self._suite

    @property
    def predicate_types(self) -> frozenset[str]:
        self._must_be_known()
        return self._predicate_types

    async def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        proof: ZkProof = await self._ask("prove", wire.prove_call(statement, witness, context))
        return proof

    async def read(self, proof: str) -> PresentedProof:
        presented: PresentedProof = await self._ask("read", wire.read_call(proof))
        return presented

    async def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        await self._ask("verify", wire.verify_call(statement, proof, context, now))

    async def close(self) -> None:
        """Ends the workers, and takes no more calls."""
        self._closed = True
        if self._pool is not None:
            await self._pool.close()

    async def _ask(self, method: str, body: bytes) -> Any:
        if self._closed:
            raise PluginUnavailable
        kind, answer = await self.begin().call(body)
        try:
            if kind == frames.RESULT and len(answer) > LONG_ANSWER_OCTETS:
                return await asyncio.to_thread(wire.read_result, method, answer)
            if kind == frames.RESULT:
                return wire.read_result(method, answer)
            if kind == frames.REFUSAL:
                raise wire.read_refusal(answer, self._bulkhead.contract.errors)
        except AnswerRefused as refused:
            raise Fault(str(refused)) from None
        raise Fault(wire.words(answer).get("reason", "failed and cannot say how"))

    def _must_be_known(self) -> None:
        if not self._suite:
            raise PluginUnavailable(details={"plugin": self._bulkhead.name, "retryAfter": 1})

    def _hello(self, body: bytes) -> None:
        try:
            said = strict_json.loads(body)
            suite, kinds = said["suite"], said["predicateTypes"]
        except (ValueError, TypeError, KeyError) as error:
            raise AnswerRefused(f"said something else ({type(error).__name__})") from None
        if not isinstance(suite, str) or not 1 <= len(suite) <= _LONGEST_SUITE:
            raise AnswerRefused("has no suite")
        if not isinstance(kinds, list) or len(kinds) > _MOST_TYPES or not all(isinstance(one, str) for one in kinds):
            raise AnswerRefused("has no predicate types")
        self._suite, self._predicate_types = suite, frozenset(kinds)
