"""The parts of Connexion that this service uses, imported only here, without those that a server does not use.

Any part of Connexion imports all of it: two HTTP clients and Starlette's test client. That takes a tenth of a start,
and it prints a warning about a dependency that an operator cannot change. These modules are imported when something
of them is called.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

# Connexion and Starlette only call these names, and a server never does.
CALLED_ONLY = ("httpx", "requests", "starlette.testclient")


class _Later(ModuleType):
    """A placeholder of a module, which is imported when something of it is called."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name.startswith("__"):
            raise AttributeError(name)

        def call(*arguments: Any, **named: Any) -> Any:
            return getattr(importlib.import_module(self.__name__), name)(*arguments, **named)

        return call


@contextlib.contextmanager
def _import_lazily() -> Iterator[None]:
    """Import one of these modules only when it is used. A direct import returns the real module, before and after."""
    left = [name for name in CALLED_ONLY if name not in sys.modules]
    sys.modules.update((name, _Later(name)) for name in left)
    try:
        yield
    finally:
        for name in left:
            del sys.modules[name]


with _import_lazily():
    from connexion.middleware import ConnexionMiddleware
    from connexion.middleware.abstract import SpecMiddleware
    from connexion.middleware.lifespan import LifespanMiddleware
    from connexion.resolver import Resolution, Resolver
    from connexion.spec import Specification

__all__ = ["ConnexionMiddleware", "LifespanMiddleware", "Resolution", "Resolver", "SpecMiddleware", "Specification"]
