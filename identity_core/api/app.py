"""The ASGI application: guard → Connexion[lifespan, dispatch], built at once and not at the first request.

Connexion builds its stack lazily, and a server that starts with a broken one answers 500 to everything; here a fault
in the document or a missing handler is an exception of ``build_app``. Run it with ``--lifespan on``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from functools import partial
from typing import Any

from identity_core.api import contract
from identity_core.api.connexion_parts import ConnexionMiddleware, LifespanMiddleware, as_it_is
from identity_core.api.contract import OpenApiDocument, bind
from identity_core.api.dispatch import Dispatch, HandlerResolver, Wiring
from identity_core.api.guard import Guard, Observe
from identity_core.api.pages import docs_pages, document_page
from identity_core.api.request import ErrorShape, Operation
from identity_core.api.transport import Receive, Scope, Send

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]

# These operations answer whatever the load.
ALWAYS_ANSWERED = ("getHealth", "getReadiness")


def build_app(
    document: OpenApiDocument,
    handlers: Sequence[object],
    wiring: Wiring,
    *,
    observe: Observe,
    identify: Callable[[], str],
    monotonic: Callable[[], float],
    lifespan: Lifespan | None = None,
    limit: int = 1000,
    validate: bool = True,
) -> Guard:
    """The application over ``document`` and ``handlers``; ``/openapi.json`` and ``/docs`` are there besides the pages of ``wiring``.

    ``observe`` is told of every answer, ``identify`` makes request ids. ``limit`` bounds the requests in progress. ``validate`` holds
    the document itself against the schema of OpenAPI; the one that ships with the package needs it at no start.
    ``lifespan`` None means that the wrapper of the application answers the server's lifespan events.
    Raises ``ContractError`` in one line, or Connexion's ``InvalidSpecification``.
    """
    value: dict[str, Any] = dict(document.value)
    wiring = replace(wiring, pages={**document_page(document), **docs_pages(), **wiring.pages})
    stack = ConnexionMiddleware(
        _nowhere,
        import_name="identity_core.api",
        middlewares=[LifespanMiddleware, partial(Dispatch, wiring=wiring)],
        lifespan=lifespan,
        resolver=HandlerResolver(bind(value, handlers, wiring.schemes)),
    )
    with contextlib.nullcontext() if validate else as_it_is():
        stack.add_api(value)
        # Not public in 3.3.0, hence the exact pin; a contract test holds it.
        stack.app, stack.middleware_stack = stack._build_middleware_stack()
    forms = {at.partition("{")[0].encode(): form.operation for at, form in wiring.forms.items() if form.operation}
    return Guard(
        stack,
        observe=observe,
        identify=identify,
        charge=wiring.gate.charge,
        limit=limit,
        exempt=frozenset(at for at, one in placed(value) if one["operationId"] in ALWAYS_ANSWERED),
        shapes=early_shapes(value, wiring.error_shapes) | forms,
        monotonic=monotonic,
    )


def placed(document: Mapping[str, Any]) -> Iterator[tuple[bytes, Any]]:
    """Every operation by the raw paths that lead to it, each as far as its first parameter."""
    base = document.get("servers", [{"url": ""}])[0]["url"]
    for path, _, declared in contract.operations(document):
        for place in (base + path, *declared.get("x-aliases", ())):
            yield place.partition("{")[0].encode("ascii"), declared


def early_shapes(document: Mapping[str, Any], shapes: Mapping[str, ErrorShape]) -> dict[bytes, Operation]:
    """Return the ``shapes`` of ``early_operation``: the operations of the document that follow another standard."""
    return {
        place: Operation(one["operationId"], "", "", frozenset(), "", shape=shapes.get(one["x-error-schema"]))
        for place, one in placed(document)
        if "x-error-schema" in one
    }


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Behind the dispatch there is nothing."""
    raise RuntimeError(f"nothing handles {scope['type']}")
