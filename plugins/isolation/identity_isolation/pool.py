"""A pool that keeps a number of workers running: it hands out calls, detects workers that hang or die, and replaces
them.

A call ends with the worker's answer, with ``Fault`` when the worker was lost, or with ``DeadlineExceeded``. The
bulkhead limits the number of waiting calls. The waiting call of a cancelled caller is removed.

Calls that wait at one time go to a worker together; ``WaitingJobs`` has the rule. If a worker is lost with several
calls, each is sent again alone, so that one bad proof does not fail the others.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct

from identity_core.errors import Overloaded, PluginUnavailable
from identity_core.plugin.border import Fault, from_outside
from identity_core.plugin.build import WorkerTable
from identity_core.plugin.limits import DeadlineExceeded
from identity_core.plugin.sockets import PluginError
from identity_isolation.calls import Single
from identity_isolation.messages import Ended, Failed, Line, Message, Raised, Ready, Returned, Unfit
from identity_isolation.waiting import Job, Outcome, WaitingJobs, message_of, patience_of
from identity_isolation.worker import Order, WorkerProcess

# The time until a worker's prover must be built. Large proving keys take a while to load.
START_SECONDS: Final = 60.0

# The time for which a start waits for a prover that no setting names. Such a prover is ready sooner than the server
# itself.
PATIENCE_SECONDS: Final = 5.0

LEAVE_SECONDS: Final = 1.0
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 10.0


class _Turn(Struct, frozen=True):
    """The current task of a worker."""

    jobs: Sequence[Job]
    began: float
    deadline: asyncio.TimerHandle


class Pool:
    """A pool of ``size`` workers of one ``order``. It belongs to the event loop in which it was made."""

    def __init__(self, order: Order, *, size: int, deadline_seconds: float, logger: logging.Logger) -> None:
        """Make a pool without starting a worker: the first call starts them, or ``begin``."""
        self.ready: Ready | None = None
        self._order = order
        self._size = size
        self._deadline_seconds = deadline_seconds
        self._logger = logger
        self._workers: set[WorkerProcess] = set()
        # Workers whose prover is built, with their current calls; the one that has been idle for longest is first.
        self._up: dict[WorkerProcess, _Turn | None] = {}
        self._waiting = WaitingJobs()
        self._failures = 0
        self._restarts = 0
        self._trouble = ""
        self._unfit: Unfit | None = None
        self._told = asyncio.Event()
        self._closing = asyncio.Event()
        self._keeping: list[asyncio.Task[None]] = []

    def begin(self) -> None:
        """Start all workers unless they are started. Does not wait for them."""
        if not self._keeping:
            self._loop = asyncio.get_running_loop()
            self._keeping = [self._loop.create_task(self._keep()) for _ in range(self._size)]

    @property
    def worker_table(self) -> WorkerTable:
        """Return the current statistics. Before ``begin`` no worker is expected."""
        return WorkerTable(len(self._keeping), len(self._up), self._restarts, self._trouble, self._waits())

    async def settled(self, *, named: bool) -> None:
        """Return when it is known whether the prover is available; at once if the workers have not begun.

        ``named``: the settings name the prover, so it must be available. Otherwise the wait is short, and a prover
        may come up later or fail without stopping the start.
        Raises ``PluginError``: when a named prover is not available.
        """
        if self._keeping:
            with contextlib.suppress(TimeoutError):
                # Set when the first worker is ready, or has reported why it cannot be.
                await asyncio.wait_for(self._told.wait(), None if named else PATIENCE_SECONDS)
        if self._trouble and named:
            raise PluginError(self._trouble)
        if self._trouble and not self._waits():
            self._logger.error("the prover failed: %s", self._trouble)

    async def call(self, call: Single) -> Outcome:
        """Return the answer of the worker. Raises ``Fault``: when the worker was lost; ``DeadlineExceeded``: when it
        was late."""
        if self._closing.is_set():
            raise PluginUnavailable
        if self._trouble:
            raise Fault(f"has no worker process: {self._trouble}")
        self.begin()
        batches = self.ready is not None and self.ready.batches
        job = Job.from_call(call, self._loop.create_future(), batches=batches)
        self._waiting.append(job)
        self._hand_out()
        try:
            return await job.answer
        except asyncio.CancelledError as error:
            if job in self._waiting:
                self._waiting.remove(job)
                if self._up and not from_outside(error):
                    # A full queue of running workers is not a failure of the plugin: a worker that hangs is killed.
                    raise Overloaded(details={"retryAfter": 1}) from None
            raise

    async def close(self) -> None:
        """End all workers and wait until they have ended. May be called twice."""
        if not self._closing.is_set():
            self._closing.set()
            self._end_waiting(PluginUnavailable())
            for worker in self._workers:
                if worker in self._up and self._up[worker] is None:
                    worker.leave()
                    self._loop.call_later(LEAVE_SECONDS, worker.kill, "did not leave")
                else:
                    worker.kill("the pool closes")
        if self._keeping:
            await asyncio.wait(self._keeping)

    async def _keep(self) -> None:
        """Keep one worker running: replace each that ends, after a pause unless it is the first failure."""
        while not self._closing.is_set():
            try:
                worker = WorkerProcess(self._order)
            except OSError as error:
                was_up, verdict = False, f"cannot be started: {error.strerror}"
            else:
                was_up, verdict = await self._work(worker), worker.verdict
            if self._closing.is_set():
                return
            self._failures += 1
            if not was_up:
                self._give_up(verdict)
            if self._waits():
                return
            if not was_up or self._failures > 1:
                pause = min(FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 10), LONGEST_PAUSE_SECONDS)
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._closing.wait(), pause)
            self._restarts += 1

    async def _work(self, worker: WorkerProcess) -> bool:
        """Read the worker's messages until it has ended. Return whether it was ever ready."""
        self._workers.add(worker)
        start = self._loop.call_later(START_SECONDS, worker.kill, f"was not ready after {START_SECONDS:g} s")
        await worker.run(partial(self._heard, worker, start))
        start.cancel()
        return self._lost(worker)

    def _heard(self, worker: WorkerProcess, start: asyncio.TimerHandle, message: Message) -> None:
        match message:
            case Line():
                level = logging.getLevelNamesMapping().get(message.level, logging.WARNING)
                self._logger.getChild(self._order.provider).log(level, "%s", message.text)
            case Ready() if worker not in self._up:
                start.cancel()
                self.ready = message
                self._trouble, self._unfit = "", None
                self._free(worker)
                self._told.set()
            case Unfit() if worker not in self._up:
                self._unfit = message
                worker.kill(message.text or "cannot say why")
            case Returned() | Raised() | Failed() if (turn := self._up.get(worker)) and len(turn.jobs) == 1:
                self._ended(worker, turn, [message])
            case Ended(outcomes) if (turn := self._up.get(worker)) and len(turn.jobs) == len(outcomes) > 1:
                self._ended(worker, turn, outcomes)
            case _:
                worker.kill("spoke out of turn")

    def _lost(self, worker: WorkerProcess) -> bool:
        was_up = worker in self._up
        self._workers.discard(worker)
        turn = self._up.pop(worker, None)
        if turn is not None:
            turn.deadline.cancel()
            self._ask_again(turn.jobs, Fault(f"lost its worker process, which {worker.verdict}"))
        if not self._closing.is_set():
            self._logger.warning("worker process %d of %s %s", worker.pid, self._order.provider, worker.verdict)
        return was_up

    def _ask_again(self, jobs: Sequence[Job], error: Fault) -> None:
        """Send the calls of a batch again, each alone; a single call has its answer."""
        for job in reversed(jobs):
            if len(jobs) == 1 or self._closing.is_set():
                job.end(error)
            elif not job.answer.done():
                job.together = None
                self._waiting.appendleft(job)
        self._hand_out()

    def _give_up(self, trouble: str) -> None:
        """Handle a failed start: fail the waiting calls, unless another worker is up or starting and can take them."""
        if self._up or (self._workers and not self._unfit):
            return
        self._trouble = trouble
        self._told.set()
        self._end_waiting(Fault(f"has no worker process: {trouble}"))

    def _waits(self) -> bool:
        return self._unfit is not None and self._unfit.waits

    def _free(self, worker: WorkerProcess) -> None:
        self._up.pop(worker, None)
        self._up[worker] = None
        self._hand_out()

    def _hand_out(self) -> None:
        for worker, current in self._up.items():
            if self._waiting and current is None and not (worker.verdict or worker.has_ended):
                jobs = self._waiting.share(len(self._up))
                seconds = patience_of(jobs, self._deadline_seconds)
                deadline = self._loop.call_later(seconds, self._late, worker, jobs, seconds)
                self._up[worker] = _Turn(jobs, self._loop.time(), deadline)
                worker.send(message_of(jobs))

    def _ended(self, worker: WorkerProcess, turn: _Turn, outcomes: Sequence[Outcome]) -> None:
        self._failures = 0
        turn.deadline.cancel()
        self._waiting.learn(turn.jobs, self._loop.time() - turn.began)
        for job, outcome in zip(turn.jobs, outcomes, strict=True):
            job.end(outcome)
        self._free(worker)

    def _late(self, worker: WorkerProcess, jobs: Sequence[Job], seconds: float) -> None:
        worker.kill(f"was at {'one call' if len(jobs) == 1 else f'{len(jobs)} calls'} for {seconds:g} s")
        if len(jobs) == 1:
            jobs[0].end(DeadlineExceeded())

    def _end_waiting(self, error: Exception) -> None:
        while self._waiting:
            self._waiting.popleft().end(error)
