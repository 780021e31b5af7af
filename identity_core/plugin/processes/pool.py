"""Keeps a number of workers at work: hands out calls, notices what hangs or dies, and starts anew.

A call ends with the worker's answer, with ``Fault`` when the worker was lost, or with ``DeadlineExceeded``. How many calls may
wait is the bulkhead's to bound; a caller who goes away takes its waiting call along.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from identity_core.errors import PluginUnavailable
from identity_core.plugin.bulkhead import Fault
from identity_core.plugin.deadline import DeadlineExceeded
from identity_core.plugin.processes import frames, wire
from identity_core.plugin.processes.frames import frame
from identity_core.plugin.processes.order import Order
from identity_core.plugin.processes.worker import WorkerProcess

START_SECONDS: Final = 60.0
"""How long a worker may take until its prover is built. Large proving keys take a while."""

LEAVE_SECONDS: Final = 1.0
FIRST_PAUSE_SECONDS: Final = 0.1
LONGEST_PAUSE_SECONDS: Final = 10.0


@dataclass(slots=True)
class _Job:
    call: bytes
    answer: asyncio.Future[tuple[bytes, bytes]]
    worker: WorkerProcess | None = None


@dataclass(frozen=True, slots=True)
class WorkerTable:
    """The workers in numbers. ``trouble`` says why there is none, and is empty while there may be one soon; ``waits`` when only other
    settings would help."""

    wanted: int
    up: int
    restarts: int
    trouble: str
    waits: bool


class Pool:
    """``size`` workers of one ``order``. Belongs to the event loop in which it was made."""

    def __init__(
        self,
        order: Order,
        *,
        size: int,
        deadline_seconds: float,
        logger: logging.Logger,
        hello: Callable[[bytes], None],
    ) -> None:
        """Starts them all, and waits for none. ``hello`` reads what a worker says of its prover; raises ``AnswerRefused``."""
        self._order = order
        self._size = size
        self._deadline_seconds = deadline_seconds
        self._logger = logger
        self._hello = hello
        self._workers: set[WorkerProcess] = set()
        self._idle: deque[WorkerProcess] = deque()
        self._waiting: deque[_Job] = deque()
        self._at_work: dict[WorkerProcess, _Job] = {}
        self._up: set[WorkerProcess] = set()
        self._pauses: set[asyncio.TimerHandle] = set()
        self._failures = 0
        self._restarts = 0
        self._trouble = ""
        self._unfit = False
        self._waits = False
        self._closing = False
        self._told = asyncio.Event()
        self._all_gone = asyncio.Event()
        for _ in range(size):
            self._start()

    @property
    def worker_table(self) -> WorkerTable:
        """How it is now."""
        return WorkerTable(self._size, len(self._up), self._restarts, self._trouble, self._waits)

    async def told(self) -> None:
        """Returns when the first worker has said that it is ready, or why it never will be."""
        await self._told.wait()

    async def call(self, body: bytes) -> tuple[bytes, bytes]:
        """Letter and body of the answer. Raises ``Fault`` and ``DeadlineExceeded``."""
        if self._closing:
            raise PluginUnavailable
        if self._trouble:
            raise Fault(f"has no worker process: {self._trouble}")
        job = _Job(frame(frames.CALL, body), asyncio.get_running_loop().create_future())
        self._waiting.append(job)
        self._hand_out()
        try:
            return await job.answer
        finally:
            if job.worker is None:
                with contextlib.suppress(ValueError):
                    self._waiting.remove(job)

    async def close(self) -> None:
        """Ends all workers and waits until they are gone. May be called twice."""
        if not self._closing:
            self._closing = True
            for pause in self._pauses:
                pause.cancel()
            self._fail_waiting(PluginUnavailable())
            for worker in self._workers:
                if worker.state == "idle":
                    worker.leave()
                    worker.allow(LEAVE_SECONDS, lambda late: late.kill("did not leave"))
                else:
                    worker.kill("the pool closes")
        if self._workers:
            await self._all_gone.wait()

    def heard(self, worker: WorkerProcess, kind: bytes, body: bytes) -> None:
        if kind == frames.LOG:
            self._log(body)
        elif kind == frames.READY and worker.state == "starting":
            self._welcome(worker, body)
        elif kind == frames.UNFIT and worker.state == "starting":
            said = wire.words(body)
            self._unfit = True
            self._waits = said.get("why") == "waits"
            worker.kill(said.get("reason", "cannot say why"))
        elif kind in (frames.RESULT, frames.REFUSAL, frames.FAULT) and worker.state == "busy":
            job = self._at_work.pop(worker)
            self._failures = 0
            self._free(worker)
            if not job.answer.done():
                job.answer.set_result((kind, body))
        else:
            worker.kill("spoke out of turn")

    def ended(self, worker: WorkerProcess) -> None:
        self._workers.discard(worker)
        with contextlib.suppress(ValueError):
            self._idle.remove(worker)
        was_up = worker in self._up
        self._up.discard(worker)
        job = self._at_work.pop(worker, None)
        if job is not None and not job.answer.done():
            job.answer.set_exception(Fault(f"lost its worker process, which {worker.verdict}"))
        if self._closing:
            if not self._workers:
                self._all_gone.set()
            return
        self._logger.warning("worker process %d of %s %s", worker.pid, self._order.provider, worker.verdict)
        self._failures += 1
        if not was_up:
            self._give_up(worker.verdict)
        if not self._waits:
            self._start_later(at_once=was_up and self._failures == 1)

    def _start(self) -> None:
        try:
            worker = WorkerProcess(self._order, self)
        except OSError as error:
            self._failures += 1
            self._give_up(f"cannot be started: {error.strerror}")
            self._start_later(at_once=False)
            return
        self._workers.add(worker)
        worker.allow(START_SECONDS, lambda late: late.kill(f"was not ready after {START_SECONDS:g} s"))

    def _start_later(self, *, at_once: bool) -> None:
        if at_once:
            self._restart()
            return
        pause = min(FIRST_PAUSE_SECONDS * 2 ** min(self._failures, 10), LONGEST_PAUSE_SECONDS)
        handle = asyncio.get_running_loop().call_later(pause, self._after_pause)
        self._pauses.add(handle)

    def _after_pause(self) -> None:
        now = asyncio.get_running_loop().time()
        self._pauses = {one for one in self._pauses if one.when() > now and not one.cancelled()}
        self._restart()

    def _restart(self) -> None:
        self._restarts += 1
        self._start()

    def _welcome(self, worker: WorkerProcess, body: bytes) -> None:
        try:
            self._hello(body)
        except wire.AnswerRefused as refused:
            worker.kill(f"introduced itself wrongly: it {refused}")
            return
        self._trouble, self._unfit = "", False
        self._up.add(worker)
        self._free(worker)
        self._told.set()

    def _give_up(self, trouble: str) -> None:
        """A start has failed. While another worker is up or starting, calls go to that one."""
        others_start = any(worker.state == "starting" for worker in self._workers)
        if self._up or (others_start and not self._unfit):
            return
        self._trouble = trouble
        self._told.set()
        self._fail_waiting(Fault(f"has no worker process: {trouble}"))

    def _free(self, worker: WorkerProcess) -> None:
        worker.rest()
        if not worker.gone:
            self._idle.append(worker)
            self._hand_out()

    def _hand_out(self) -> None:
        while self._idle and self._waiting:
            job = self._waiting.popleft()
            if job.answer.done():
                continue
            worker = self._idle.popleft()
            job.worker = worker
            self._at_work[worker] = job
            worker.ask(job.call)
            # The witness is in it, and its way is done.
            job.call = b""
            worker.allow(self._deadline_seconds, self._late)

    def _late(self, worker: WorkerProcess) -> None:
        job = self._at_work.pop(worker)
        if not job.answer.done():
            job.answer.set_exception(DeadlineExceeded())
        worker.kill(f"was at one call for {self._deadline_seconds:g} s")

    def _fail_waiting(self, error: Exception) -> None:
        while self._waiting:
            job = self._waiting.popleft()
            if not job.answer.done():
                job.answer.set_exception(error)

    def _log(self, body: bytes) -> None:
        said = wire.words(body)
        level = logging.getLevelNamesMapping().get(said.get("level", ""), logging.WARNING)
        self._logger.getChild(self._order.provider).log(level, "%s", said.get("text", ""))
