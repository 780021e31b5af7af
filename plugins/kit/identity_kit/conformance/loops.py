"""How the kit drives asynchronous ports: each test in an event loop of its own."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def run(scenario: Coroutine[Any, Any, T]) -> T:
    """Runs one scenario to its end, in a new event loop."""
    return asyncio.run(scenario)


def in_own_loop(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """An asynchronous test as one that pytest calls without a plugin."""

    @functools.wraps(test)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        return run(test(*args, **kwargs))

    return call


async def close(thing: object) -> None:
    """Closes what has a ``close``, plain or asynchronous."""
    closing = getattr(thing, "close", None)
    if closing is not None:
        result = closing()
        if inspect.isawaitable(result):
            await result
