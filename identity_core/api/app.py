"""The ASGI application: guard → Connexion[lifespan, dispatch], built at startup and not at the first request.

Connexion builds its stack when it is first called, and a server with a broken stack answers 500 to everything. Here a
fault in the document or a missing handler is an exception of ``build_app``. Run it with ``--lifespan on``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Final

from identity_codec.values import replace
from identity_core.api import contract
from identity_core.api.connexion_parts import ConnexionMiddleware, LifespanMiddleware
from identity_core.api.contract import OpenApiDocument, bind
from identity_core.api.dispatch import Dispatch, HandlerResolver, Wiring
from identity_core.api.guard import Guard, Observe
from identity_core.api.pages import docs_pages, document_page
from identity_core.api.request import ErrorShape, Operation
from identity_core.api.transport import Receive, Scope, Send

Lifespan = Callable[[Any], AbstractAsyncContextManager[Any]]

# These operations answer under any load.
ALWAYS_ANSWERED = ("getHealth", "getReadiness")
_BUILD: Final = "identity.build"


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
    """Return the application over ``document`` and ``handlers``. ``/openapi.json`` and ``/docs`` are served beside
    the pages of ``wiring``.

    ``observe``: called with every answer. ``identify``: makes request ids. ``limit``: the maximum of requests in
    progress.
    ``validate``: Connexion gets the whole document and checks it against the schema of OpenAPI, which takes a second.
    The document that ships with the package was checked before, so Connexion gets its ``outline``.
    ``lifespan``: None if the wrapper of the application answers the server's lifespan events.

    Raises ``ContractError``: in one line, when document and code do not fit; Connexion's ``InvalidSpecification``.
    """
    value: dict[str, Any] = dict(document.value)
    wiring = replace(wiring, pages={**document_page(document), **docs_pages(), **wiring.pages})
    stack = ConnexionMiddleware(
        _nowhere,
        import_name="identity_core.api",
        middlewares=[LifespanMiddleware, partial(Dispatch, document=value, wiring=wiring)],
        lifespan=lifespan,
        resolver=HandlerResolver(bind(value, handlers, wiring.schemes)),
    )
    stack.add_api(value if validate else outline(value))
    # The first call builds the stack. It never awaits, because no layer handles its type.
    with contextlib.suppress(StopIteration):
        stack({"type": _BUILD}, _nowhere, _nowhere).send(None)
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
    """Yield every operation with each raw path that leads to it, up to its first parameter."""
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


def outline(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document without everything that only this service's parsers read, because Connexion copies and
    checks all that it gets."""
    paths: dict[str, dict[str, Any]] = {}
    for path, method, declared in contract.operations(document):
        kept = {"operationId": declared["operationId"], "responses": {"default": {"description": ""}}}
        paths.setdefault(path, {})[method] = kept
    return {key: document[key] for key in ("openapi", "info", "servers") if key in document} | {"paths": paths}


async def _nowhere(scope: Scope, receive: Receive, send: Send) -> None:
    """Handle nothing: no layer is behind the dispatch."""
    if scope["type"] != _BUILD:
        raise RuntimeError(f"nothing handles {scope['type']}")
