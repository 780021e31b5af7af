"""What we take of Connexion, imported in this one place.

Importing any part of Connexion imports Starlette's test client, which warns every user on stderr that *its* dependency
httpx is deprecated. That is no news for an operator, so exactly this warning is silenced, here and nowhere else.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")
    from connexion.middleware import ConnexionMiddleware
    from connexion.middleware.abstract import SpecMiddleware
    from connexion.middleware.lifespan import LifespanMiddleware
    from connexion.resolver import Resolution, Resolver
    from connexion.spec import OpenAPISpecification, Specification

__all__ = [
    "ConnexionMiddleware",
    "LifespanMiddleware",
    "Resolution",
    "Resolver",
    "SpecMiddleware",
    "Specification",
    "as_it_is",
]


@contextlib.contextmanager
def as_it_is() -> Iterator[None]:
    """Takes documents without holding them against the schema of OpenAPI. Connexion does that in Python, twice an API: a second of
    every start for a document that ships with the package and that ``tests/contract`` holds against the same schema."""
    OpenAPISpecification._validate_spec = classmethod(lambda cls, spec: None)
    try:
        yield
    finally:
        del OpenAPISpecification._validate_spec
