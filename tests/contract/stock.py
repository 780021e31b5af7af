"""The same handlers on Connexion's own AsyncApp: the second opinion on what the compiled dispatch does.

Only for tests. The stock stack routes, checks security and validates by itself; the adapter below makes our ``Request`` of
what it hands to a function.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import connexion
from connexion import AsyncApp
from connexion.lifecycle import ConnexionRequest, ConnexionResponse
from connexion.options import SwaggerUIOptions
from connexion.resolver import Resolution, Resolver
from connexion.security import NO_VALUE, AbstractSecurityHandler

from identity_codec.structs import python_name
from identity_core.api.contract import OpenApiDocument, bind, dereference, operations
from identity_core.api.request import Handler, Operation, Request
from identity_core.api.security import Gate
from identity_core.errors import IdentityError

Names = Mapping[str, set[str]]


def build_stock_app(
    document: OpenApiDocument,
    handlers: Sequence[object],
    *,
    gate: Gate,
    schemes: Mapping[str, str],
    lifespan: Any,
    types: Sequence[str] = ("apiKey",),
) -> AsyncApp:
    """The stock application over ``document`` and ``handlers``."""
    app = AsyncApp("identity_core.api", lifespan=lifespan, swagger_ui_options=SwaggerUIOptions(swagger_ui=False))
    app.add_api(
        dict(document.value),
        resolver=_Adapting(bind(document.value, handlers, schemes), _names(document.value)),
        security_map=dict.fromkeys(types, _by_gate(gate, schemes)),
        strict_validation=True,
    )
    return app


class _Adapting(Resolver):  # type: ignore[misc]
    def __init__(self, handlers: Mapping[str, Handler], names: Mapping[str, Names]) -> None:
        super().__init__()
        self._handlers = handlers
        self._names = names

    def resolve(self, operation: Any) -> Resolution:
        operation_id = operation.operation_id
        return Resolution(_adapter(operation_id, self._handlers[operation_id], self._names[operation_id]), operation_id)


def _names(document: Mapping[str, Any]) -> dict[str, Names]:
    """operationId → place of a parameter → names."""
    return {
        operation["operationId"]: {
            place: {each["name"] for each in parameters if each["in"] == place} for place in ("path", "query")
        }
        for _, _, operation in operations(document)
        for parameters in [[dereference(document, each) for each in operation.get("parameters", [])]]
    }


def _adapter(operation_id: str, handler: Handler, names: Names) -> Callable[..., Awaitable[Any]]:
    async def function(**given: Any) -> ConnexionResponse:
        request = _request(connexion.request.headers)
        request.operation_id = operation_id
        request.path = {name: given[name] for name in names["path"] if name in given}
        request.query = {python_name(name): given[name] for name in names["query"] if name in given}
        request.body = given.get("body")
        answer = await handler(request)
        return ConnexionResponse(
            status_code=answer.status, content_type=answer.media_type, body=answer.body, headers=dict(answer.headers)
        )

    return function


def _request(headers: Mapping[str, str]) -> Request:
    return Request(headers={name.lower(): value for name, value in headers.items()})


def _by_gate(gate: Gate, schemes: Mapping[str, str]) -> type[AbstractSecurityHandler]:
    """Connexion asks scheme by scheme; each question goes to the gate as an operation that takes this scheme only."""
    known = frozenset(schemes.values())

    class ByGate(AbstractSecurityHandler):  # type: ignore[misc]
        def get_fn(self, security_scheme: Mapping[str, Any], required_scopes: Sequence[str]) -> Callable[..., Any]:
            async def verify(request: ConnexionRequest) -> object:
                try:
                    caller, _ = await gate.admit(Operation("stock", "GET", "/", known, ""), _request(request.headers))
                except IdentityError:
                    return NO_VALUE
                return {"sub": "a subject", "caller": caller}

            return verify

    return ByGate
