"""Event loops of asynchronous tests, the errors that they expect, and closing of their resources."""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import pytest

C = TypeVar("C", bound=type)


def own_loop_per_test(tests: C) -> C:
    """Let pytest call each asynchronous test of a class without a plugin, in an event loop that the test has for itself."""
    for name, test in list(vars(tests).items()):
        if name.startswith("test_") and inspect.iscoroutinefunction(test):
            setattr(tests, name, _in_own_loop(test))
    return tests


def _in_own_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @functools.wraps(test)
    def call(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return call


async def expect_error(error: type[Exception] | tuple[type[Exception], ...], call: Coroutine[Any, Any, object]) -> None:
    """Await ``call``, which must raise ``error``."""
    with pytest.raises(error):
        await call


async def close(thing: object) -> None:
    """Close an object with a ``close`` method, plain or asynchronous."""
    closing = getattr(thing, "close", None)
    if closing is not None:
        result = closing()
        if inspect.isawaitable(result):
            await result
