"""The queue in front of the one writer. Jobs that wait at the same time are committed together.

A job that comes alone starts at once. Jobs that arrive while a commit is running form the next group. Measured, this
natural batching gives ten times the throughput under load and adds no latency to a lone job. A caller that expects
more jobs may give its own job a batch window; one job without a batch window starts them all.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from itertools import groupby
from queue import SimpleQueue
from typing import Any, Generic, TypeVar

from msgspec import Struct, field

from identity_core.database.interface import (
    DatabaseClosed,
    DatabaseError,
    DatabaseLoad,
    DatabaseOverloaded,
    Job,
    T,
    Transaction,
)

ItemT = TypeVar("ItemT")

Follow = Callable[[Transaction, Any], None]
_FOLLOWED_BY: ContextVar[tuple[tuple[Callable[..., Any], Follow], ...]] = ContextVar("followed by", default=())

QUEUE_LIMIT = 4096
GROUP_LIMIT = 256


class BatchJob(Struct, Generic[ItemT, T], frozen=True):
    """A job for one ``item`` of many similar ones. Adjacent jobs of a group with the same ``run`` are one call of it,
    which returns the result of each item, in order. If that call raises, each job runs again alone, as every job
    does."""

    run: Callable[[Transaction, Sequence[ItemT]], Sequence[T]]
    item: ItemT

    def __call__(self, transaction: Transaction) -> T:
        return self.run(transaction, (self.item,))[0]


class Pending(Struct, eq=False):
    """A job that waits for its commit. ``result`` or ``error`` is set when it ran, and delivered after the commit."""

    job: Job[Any]
    durable: bool
    future: asyncio.Future[Any]
    heavy: bool = False
    then: Callable[[Any], None] | None = None
    result: Any = None
    error: Exception | None = None

    @property
    def is_wanted(self) -> bool:
        """Return whether the job must run: a job whose future was cancelled has no caller."""
        return self.then is not None or not self.future.done()


class WriterThread:
    """One thread that runs callables in order. It is cheaper than an executor, because it returns no results."""

    def __init__(self, name: str) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        self.submit = self._tasks.put

    def _run(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()

    def wait(self) -> None:
        """Return when all submitted callables have run."""
        done = threading.Event()
        self._tasks.put(done.set)
        done.wait()

    def stop(self) -> None:
        """End the thread after all submitted callables."""
        self._tasks.put(None)
        self._thread.join()


def run_together(transaction: Transaction, jobs: Sequence[Pending], *, fatal: tuple[type[Exception], ...] = ()) -> bool:
    """Run the jobs as if none would raise. Return False when one did: then all their changes must be undone. No
    caller has its result yet; each job runs again alone, and its caller gets the error that it raises then.

    Raises an error of the types ``fatal`` at once, for the whole group.
    """
    try:
        for run, alike in groupby(jobs, lambda one: one.job.run if isinstance(one.job, BatchJob) else None):
            if run is None:
                for pending in alike:
                    pending.result = pending.job(transaction)
                continue
            batch = [*alike]
            results = run(transaction, [one.job.item for one in batch if isinstance(one.job, BatchJob)])
            for pending, result in zip(batch, results, strict=True):
                pending.result = result
    except Exception as error:
        if isinstance(error, fatal):
            raise
        return False
    return True


@contextmanager
def follow_write(write: Callable[..., Any], follow: Follow) -> Iterator[None]:
    """Run ``follow``, within the context, in the transaction of the next job that the task submits to ``write``,
    after that job and with its result. An error of ``follow`` undoes both. Of nested contexts the outer one is first."""
    before = _FOLLOWED_BY.set((*_FOLLOWED_BY.get(), (write, follow)))
    try:
        yield
    finally:
        _FOLLOWED_BY.reset(before)


def _followed(job: Job[T], follows: Sequence[Follow], transaction: Transaction) -> T:
    result = job(transaction)
    for follow in follows:
        follow(transaction, result)
    return result


class GroupCommit(Struct, eq=False):
    """Queue that collects jobs on the event loop and passes them to ``perform``, one group at a time.

    ``perform(loop, group)``: must cause calls of ``deliver(group, error)`` and then ``proceed()`` on the loop.
    ``recover``: called when an event loop ended before its group was finished.
    """

    perform: Callable[[asyncio.AbstractEventLoop, Sequence[Pending]], None]
    recover: Callable[[], None]
    queue_limit: int = QUEUE_LIMIT
    group_limit: int = GROUP_LIMIT
    busy: bool = False
    closed: bool = False
    groups: int = 0
    jobs: int = 0
    repeated: int = 0
    failed: int = 0
    _loop: asyncio.AbstractEventLoop | None = None
    _waiting: deque[Pending] = field(default_factory=deque)
    _idle: asyncio.Future[None] | None = None
    # The time of the loop's clock at which the first batch window ends, and the timer for it.
    _due: float = math.inf
    _timer: asyncio.TimerHandle | None = None

    def submit(
        self,
        job: Job[T],
        *,
        durable: bool = True,
        patience_seconds: float = 0.0,
        heavy: bool = False,
        then: Callable[[T], None] | None = None,
    ) -> asyncio.Future[T]:
        """Queue ``job``; the parameters are those of ``Database.write``. ``DatabaseOverloaded`` and
        ``DatabaseClosed`` are raised by the future, like every other failure, so that a caller needs only one
        handler."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        future: asyncio.Future[T] = loop.create_future()
        if follows := [follow for write, follow in _FOLLOWED_BY.get() if write == self.submit]:
            _FOLLOWED_BY.set(())
            job = partial(_followed, job, follows)
        if self.closed:
            future.set_exception(DatabaseClosed("the database is closed"))
            return future
        if len(self._waiting) >= self.queue_limit:
            future.set_exception(DatabaseOverloaded(f"{len(self._waiting)} writes are waiting"))
            return future
        self._waiting.append(Pending(job, durable, future, heavy, then))
        due = loop.time() + patience_seconds if patience_seconds else 0.0
        if not self.busy:
            self.busy = True
            # Not at once: other jobs that this iteration of the loop submits join the same group.
            loop.call_soon(self.proceed)
        elif self._timer is not None and (due < self._due or len(self._waiting) >= self.group_limit):
            self._timer.cancel()
            self._timer = None
            loop.call_soon(self.proceed)
        self._due = min(self._due, due)
        return future

    def proceed(self) -> None:
        """Start the next group now or when the batch window ends. Without jobs, become idle."""
        loop = self._loop
        may_wait = not self.closed and 0 < len(self._waiting) < self.group_limit
        if may_wait and loop is not None and self._due > loop.time():
            self._timer = loop.call_at(self._due, self._start)
        else:
            self._start()

    def _start(self) -> None:
        self._timer = None
        waiting = self._waiting
        loop = self._loop
        if waiting and loop is not None:
            group = [waiting.popleft() for _ in range(min(len(waiting), self.group_limit))]
            self._due = 0.0 if waiting else math.inf
            self.groups += 1
            self.jobs += len(group)
            self.perform(loop, group)
            return
        self.busy = False
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def deliver(self, group: Sequence[Pending], error: DatabaseError | None) -> None:
        """Resolve the futures of a group: each with its own outcome, or all with ``error``."""
        if error is not None:
            self.failed += 1
        for pending in group:
            # Only once: a group that waits for a checkpoint is delivered before and after it.
            then, pending.then = pending.then, None
            if then is not None and error is None and pending.error is None:
                then(pending.result)
            if pending.future.done():
                continue
            if error is not None:
                pending.future.set_exception(type(error)(error.reason))
            elif pending.error is not None:
                pending.future.set_exception(pending.error)
            else:
                pending.future.set_result(pending.result)

    @property
    def load(self) -> DatabaseLoad:
        """Return the numbers of waiting and finished jobs."""
        counts = (self.queue_limit, self.jobs, self.groups, self.repeated)
        return DatabaseLoad(len(self._waiting), *counts, failed=self.failed)

    def give_up(self, group: Sequence[Pending], error: DatabaseError) -> None:
        """Fail a group that cannot start, and everything behind it. The writer keeps running."""
        self.deliver(group, error)
        self.deliver(tuple(self._waiting), error)
        self._forget()

    async def drain(self) -> None:
        """Refuse new jobs, and return when all queued ones are finished."""
        self.closed = True
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._move_to(loop)
        if self._timer is not None:
            self._timer.cancel()
            self._start()
        if self.busy:
            self._idle = loop.create_future()
            await self._idle

    def _move_to(self, loop: asyncio.AbstractEventLoop) -> None:
        if self.busy:
            if self._loop is not None and not self._loop.is_closed():
                raise RuntimeError("a database serves one event loop at a time")
            self.recover()
            self._forget()
            self.busy = False
        self._loop = loop

    def _forget(self) -> None:
        self._waiting.clear()
        self._due, self._timer = math.inf, None


def hop(loop: asyncio.AbstractEventLoop, callback: Callable[..., None], *arguments: object) -> None:
    """Call ``callback`` on the loop from another thread. A closed loop is ignored."""
    try:
        loop.call_soon_threadsafe(callback, *arguments)
    except RuntimeError:
        if not loop.is_closed():
            raise
