"""The parts of Connexion that are used, imported in this one place, without those that a server does not use.

Any part of Connexion imports all of it: two clients of HTTP and Starlette's test client, which is a tenth of a start, and
warns on stderr of a dependency that is no operator's. These are left until something of theirs is called.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

# Connexion and Starlette only call what they take of these, and nothing does in a server.
CALLED_ONLY = ("httpx", "requests", "starlette.testclient")


class _Later(ModuleType):
    """Stands for a module that is imported when something of it is called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*arguments, **named)

        return call


@contextlib.contextmanager
def _left_for_later() -> Iterator[None]:
    """Import one of these modules only when it is used. A direct import returns the real module, before and after."""
    left = [name for name in CALLED_ONLY if name not in sys.modules]
    sys.modules.update((name, _Later(name)) for name in left)
    try:
        yield
    finally:
        for name in left:
            del sys.modules[name]


with _left_for_later():
    from connexion.middleware import ConnexionMiddleware
    from connexion.middleware.abstract import SpecMiddleware
    from connexion.middleware.lifespan import LifespanMiddleware
    from connexion.resolver import Resolution, Resolver
    from connexion.spec import Specification

__all__ = [
    "ConnexionMiddleware",
    "LifespanMiddleware",
    "Resolution",
    "Resolver",
    "SpecMiddleware",
    "Specification",
]
