"""The ASGI application: guard → Connexion[lifespan, dispatch], built at once and not at the first request.

Connexion builds its stack lazily, and a server that starts with a broken one answers 500 to everything; here a fault
in the document or a missing handler is an exception of ``build_app``. Run it with ``--lifespan on``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any

from identity_core.api.connexion_parts import ConnexionMiddleware, LifespanMiddleware, as_it_is
from identity_core.api.contract import OpenApiDocument, bind
from identity_core.api.dispatch import Dispatch, HandlerResolver, Wiring
from identity_core.api.guard import Guard, Observe
from identity_core.api.pages import docs_pages, document_page
from identity_core.api.request import Admission, Around, Handler
from identity_core.api.transport import Receive, Scope, Send
from identity_core.api.writing import AuditRefusals

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]

# These operations answer whatever the load.
ALWAYS_ANSWERED = ("getHealth", "getReadiness")

# The paths at the root that are operations of the document (openapi/DECISIONS.md §1.1).
ROOT_ALIASES = {
    "/.well-known/jwks.json": "getJwks",
    "/auth/challenge": "getDidAuthChallenge",
    "/health": "getHealth",
    "/ready": "getReadiness",
    "/metrics": "getMetrics",
    "/version": "getVersion",
}


def build_app(
    document: OpenApiDocument,
    handlers: Sequence[object],
    *,
    gate: Admission,
    around: Around | None,
    refusals: AuditRefusals | None,
    schemes: Mapping[str, str],
    observe: Observe,
    identify: Callable[[], str],
    monotonic: Callable[[], float],
    lifespan: Lifespan | None,
    pages: Mapping[str, Handler],
    aliases: Mapping[str, str] = ROOT_ALIASES,
    limit: int = 1000,
    max_body: int = 256 * 1024,
    body_seconds: float = 10.0,
    verify: bool = False,
    validate: bool = True,
) -> Guard:
    """The application over ``document`` and ``handlers``.

    ``schemes``: security scheme of the document → scheme of the ``Authorization`` header. ``refusals`` None leaves them out of
    the audit log. ``observe`` is told of every answer, ``identify`` makes request ids. ``pages``: path → handler at the
    root and outside the document (``/.well-known/…``); ``/openapi.json`` and ``/docs`` are there already. ``limit`` bounds
    the requests in progress, ``max_body`` the octets of a body, ``body_seconds`` the time that it may take.
    ``verify`` checks every answer against the document: for tests and staging. ``validate`` holds the document itself against
    the schema of OpenAPI; the one that ships with the package needs it at no start.
    ``lifespan`` None means that the wrapper of the application answers the server's lifespan events.
    Raises ``ContractError`` in one line, or Connexion's ``InvalidSpecification``.
    """
    value: dict[str, Any] = dict(document.value)
    wiring = Wiring(
        gate=gate,
        around=around,
        refusals=refusals,
        schemes=schemes,
        aliases=aliases,
        pages={**document_page(document), **docs_pages(), **pages},
        max_body=max_body,
        body_seconds=body_seconds,
        verify=verify,
    )
    stack = ConnexionMiddleware(
        _nowhere,
        import_name="identity_core.api",
        middlewares=[LifespanMiddleware, partial(Dispatch, wiring=wiring)],
        lifespan=lifespan,
        resolver=HandlerResolver(bind(value, handlers, schemes)),
    )
    with contextlib.nullcontext() if validate else as_it_is():
        stack.add_api(value)
        # Not public in 3.3.0, hence the exact pin; a contract test holds it.
        stack.app, stack.middleware_stack = stack._build_middleware_stack()
    guard = partial(Guard, stack, observe=observe, identify=identify, charge=gate.charge, monotonic=monotonic)
    return guard(limit=limit, exempt=exempt_paths(value, aliases))


def exempt_paths(document: Mapping[str, Any], aliases: Mapping[str, str]) -> frozenset[bytes]:
    """The raw paths of the operations that are answered whatever the load."""
    base = document.get("servers", [{"url": ""}])[0]["url"]
    paths = [path for path, operation_id in aliases.items() if operation_id in ALWAYS_ANSWERED]
    for path, item in document["paths"].items():
        if item.get("get", {}).get("operationId") in ALWAYS_ANSWERED:
            paths.append(base + path)
    return frozenset(path.encode("ascii") for path in paths)


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Behind the dispatch there is nothing."""
    raise RuntimeError(f"nothing handles {scope['type']}")
