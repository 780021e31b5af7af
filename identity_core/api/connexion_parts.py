"""What we take of Connexion, imported in this one place.

Importing any part of Connexion imports Starlette's test client, which warns every user on stderr that *its* dependency
httpx is deprecated. That is no news for an operator, so exactly this warning is silenced, here and nowhere else.
"""

from __future__ import annotations

import warnings

with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="Using `httpx` with `starlette.testclient`")
    from connexion.middleware import ConnexionMiddleware
    from connexion.middleware.abstract import SpecMiddleware
    from connexion.middleware.lifespan import LifespanMiddleware
    from connexion.resolver import Resolution, Resolver
    from connexion.spec import Specification

__all__ = ["ConnexionMiddleware", "LifespanMiddleware", "Resolution", "Resolver", "SpecMiddleware", "Specification"]
