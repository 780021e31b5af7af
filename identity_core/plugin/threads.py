"""A pool of threads for one plugin with synchronous code: its bulkhead.

``ThreadPoolExecutor`` does not fit. Its threads are joined at the interpreter's exit, so one hung call would keep the
process alive for ever. A job whose caller was cancelled stays in its queue. Here threads are daemons, and a cancelled
job leaves the queue. A hung call occupies only its own thread, so there are never more than ``workers``.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from identity_core.errors import IdentityError, LedgerUnavailable, Overloaded, PluginUnavailable
from identity_core.plugin.border import from_outside
from identity_core.ports.ledger import LedgerBackend

T = TypeVar("T")

Outcome = tuple[Any, Exception | None]
"""The result of a call, or its error."""

# The maximum of waiting jobs per thread. The bulkhead outside limits them too; this limits a pool that is used alone.
_WAITING_PER_WORKER = 64


class Threads:
    """A pool of at most ``workers`` daemon threads, started on demand. ``away`` is the error of a call after
    ``close``."""

    def __init__(self, workers: int, name: str, away: type[IdentityError] = PluginUnavailable) -> None:
        if workers < 1:
            raise ValueError("a pool has at least one worker")
        self._workers = workers
        self._name = name
        self._away = away
        self._jobs: deque[tuple[asyncio.Future[Outcome], Callable[[], Any]]] = deque()
        self._changed = threading.Condition(threading.Lock())
        self._started = 0
        self._idle = 0
        self._done = 0
        self.closed = False

    async def run(self, call: Callable[[], T]) -> T:
        """Run ``call`` on a thread of the pool, and return or raise its result. A job whose caller is cancelled
        before it began never begins.

        Raises ``Overloaded``: when too many jobs wait; the error ``away``: after ``close``.
        """
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        with self._changed:
            if self.closed:
                raise self._away(f"{self._name} is closed.")
            if len(self._jobs) >= self._workers * _WAITING_PER_WORKER:
                raise Overloaded(details={"retryAfter": 1})
            self._jobs.append((future, call))
            done = self._done
            if self._idle < len(self._jobs) and self._started < self._workers:
                self._started += 1
                threading.Thread(target=self._work, name=f"{self._name}-{self._started}", daemon=True).start()
            self._changed.notify()
        try:
            result, error = await future
        except asyncio.CancelledError as error:
            with self._changed, contextlib.suppress(ValueError):
                self._jobs.remove((future, call))
                if self._done > done and not from_outside(error):
                    # The threads finished other calls meanwhile, so none of them hangs.
                    raise Overloaded(details={"retryAfter": 1}) from None
            raise
        if error is not None:
            raise error
        returned: T = result
        return returned

    def close(self) -> None:
        """Let the threads end when the queue is empty. Does not wait for threads that hang."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()

    def _work(self) -> None:
        while True:
            with self._changed:
                self._idle += 1
                while not self._jobs and not self.closed:
                    self._changed.wait()
                self._idle -= 1
                if not self._jobs:
                    return
                future, call = self._jobs.popleft()
            outcome = _outcome(call)
            self._done += 1
            with contextlib.suppress(RuntimeError):
                # A closed loop has no waiting caller.
                future.get_loop().call_soon_threadsafe(_settle, future, outcome)
            del future, call, outcome  # else the last result lives until the next job


def _settle(future: asyncio.Future[Outcome], outcome: Outcome) -> None:
    if not future.done():
        future.set_result(outcome)


def _outcome(call: Callable[[], Any]) -> Outcome:
    try:
        return call(), None
    except Exception as error:  # noqa: BLE001  (what a thread raises belongs to its caller)
        return None, error
    except BaseException as error:  # noqa: BLE001  (a plugin's thread must end neither the server nor the caller's task)
        return None, RuntimeError(f"raised {type(error).__name__}")


def in_threads(thing: T, *, workers: int) -> T:
    """Return an object whose methods are coroutines that run the synchronous methods of ``thing`` on threads.

    Each call runs on one of at most ``workers`` threads that belong to this object alone. So a call that hangs blocks
    only a thread of its own plugin. ``close()`` is awaited like any method and ends the threads. Properties are read
    on the event loop and must not block.

    Raises ``TypeError``: when a method is a coroutine already.
    """
    away = LedgerUnavailable if isinstance(thing, LedgerBackend) else PluginUnavailable
    pool = Threads(workers, f"plugin-{type(thing).__name__}", away)
    members: dict[str, Any] = {"__doc__": type(thing).__doc__}
    for name in {*dir(type(thing)), *getattr(thing, "__dict__", {})}:
        if name.startswith("_"):
            continue
        if inspect.iscoroutinefunction(getattr(type(thing), name, None)):
            raise TypeError(
                f"{type(thing).__name__}.{name} is a coroutine already: in_threads is for synchronous objects"
            )
        if callable(getattr(type(thing), name, None)) and name != "close":
            members[name] = _method(pool, thing, name)
        elif name != "close":
            members[name] = property(lambda _, name=name: getattr(thing, name))  # type: ignore[misc]
    members["close"] = _closing(pool, getattr(thing, "close", None))
    wrapped: T = type(f"Threaded{type(thing).__name__}", (), members)()
    return wrapped


def _method(pool: Threads, thing: Any, name: str) -> Any:
    method = getattr(thing, name)

    async def call(self: object, *args: Any, **kwargs: Any) -> Any:
        return await pool.run(partial(method, *args, **kwargs))

    call.__name__ = name
    call.__doc__ = method.__doc__
    # The bulkhead compares parameters with the port's, so they must be visible.
    own = inspect.signature(method)
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
    call.__signature__ = own.replace(parameters=[itself, *own.parameters.values()])  # type: ignore[attr-defined]
    return call


def _closing(pool: Threads, close: Callable[[], object] | None) -> Any:
    async def call(self: object) -> None:
        try:
            if close is not None and not pool.closed:
                await pool.run(close)
        finally:
            pool.close()

    return call
