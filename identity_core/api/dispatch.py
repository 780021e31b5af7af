"""The processing of a request from the raw path to the answer, compiled per operation when the application is built.

Connexion loads the document, validates it and resolves the handlers. This ``SpecMiddleware`` replaces its routing,
security and validation middlewares (``README.md`` has the reasons). The order is that of openapi/DECISIONS.md §1.4:
path, header rules and maximum sizes, then the gate (bucket and authentication), then parameters and body, then the
handler.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

import orjson
from msgspec import Struct, field

from identity_codec.structs import pascal_name
from identity_core.api import contract
from identity_core.api.connexion_parts import Resolution, Resolver, Specification, SpecMiddleware
from identity_core.api.contract import Routes
from identity_core.api.decode import Parse, Query, RequestBody, parser, refuse_body
from identity_core.api.idempotency import Idempotency
from identity_core.api.pages import form_run, page_run
from identity_core.api.request import Answer, Cost, ErrorShape, Handler, Operation, PageForm, Request
from identity_core.api.schemas import Promises, Schemas, verified
from identity_core.api.security import Gate
from identity_core.api.transport import Origins, Receive, Run, Scope, Send, deliver
from identity_core.api.writing import AuditRefusals
from identity_core.errors import MethodNotAllowed, NotFound

REALM: Final = "identity"
BEARER: Final = "Bearer"
# If operators have a separate listener, it alone serves their pages; both listeners serve the others.
OPERATOR_PAGES: Final = "/ui/operator"
SHARED_PAGES: Final = ("/ui/static/", "/ui/did/", "/ui/transaction/", "/ui/search")


class HandlerResolver(Resolver):  # type: ignore[misc]
    """Resolver of operationIds for Connexion, from this service's own table."""

    def __init__(self, handlers: Mapping[str, Handler]) -> None:
        super().__init__()
        self._handlers = handlers

    def resolve(self, operation: Any) -> Resolution:
        """Return the handler. ``contract.bind`` has checked that it exists."""
        return Resolution(self._handlers[operation.operation_id], operation.operation_id)


class Wiring(Struct, frozen=True, kw_only=True):
    """The dependencies of the dispatch.

    ``schemes``: security scheme of the document → scheme of the ``Authorization`` header.
    ``around``: wraps handlers of operations that take an Idempotency-Key; None for none.
    ``refusals``: wraps handlers that change something; None for none.
    ``pages``: path → handler outside the document, GET only, without authentication.
    ``people``: pages with the signed-in user. ``forms``: POST handlers of such pages.
    ``endpoints``: POST handlers for programs outside the document, each with its own processing.
    ``max_body``: the maximum size of bodies in bytes (an operation's own ``x-max-body`` may be lower).
    ``origins``: the origins whose pages may read public answers.
    ``apart``: the port of a separate listener, or None. It alone serves the operations whose ``x-listener`` is
    ``operator``.
    ``resource_metadata``: the URL of the interface's resource metadata, for challenges; empty for none.
    ``operations``: filled with the compiled operations, for one that calls another.
    ``error_shapes``: make the refusals of operations with an ``x-error-schema``, by its name.
    ``off``: extensions that are installed and off, with their parts of the document. A request to such a path is 404
    with the remedy.
    ``unserved``: paths outside the document that are not served, with the extension and the setting that serves it,
    empty for none.
    ``verify``: check every answer against the document, for tests.
    """

    gate: Gate
    around: Idempotency | None
    refusals: AuditRefusals | None
    schemes: Mapping[str, str]
    pages: Mapping[str, Handler]
    people: Mapping[str, Handler] = field(default_factory=dict)
    forms: Mapping[str, PageForm] = field(default_factory=dict)
    endpoints: Mapping[str, Run] = field(default_factory=dict)
    max_body: int = 256 * 1024
    origins: Origins = field(default_factory=lambda: Origins(()))
    apart: int | None = None
    resource_metadata: str = ""
    operations: dict[str, Run] = field(default_factory=dict)
    error_shapes: Mapping[str, ErrorShape] = field(default_factory=dict)
    off: Mapping[str, bytes] = field(default_factory=dict)
    unserved: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    verify: bool = False


class Dispatch(SpecMiddleware):  # type: ignore[misc]
    """Router of every request of ``document``; other ASGI events are passed on. ``add_api`` gets the part that
    Connexion loaded."""

    def __init__(self, app: Any, *, document: Mapping[str, Any], wiring: Wiring) -> None:
        self.app = app
        self._document = document
        self._wiring = wiring
        self._routes: Routes[Run] = Routes()
        self._apart: Routes[Run] = Routes()
        self._off: Routes[tuple[str, str]] = Routes()
        for path, found in wiring.unserved.items():
            self._off.add(path, {"": found})
        # Paths that are read without a credential, also by pages of other origins.
        self._shared: set[Run] = set()
        for path, page in wiring.pages.items():
            run = page_run(page, wiring.gate)
            self._shared.add(run)
            self._routes.add(path, {"GET": run})
        for path, page in wiring.people.items():
            for routes in self._routes_of_page(path):
                routes.add(path, {"GET": page_run(page, wiring.gate)})
        for path, form in wiring.forms.items():
            for routes in self._routes_of_page(path):
                routes.add(path, {"POST": form_run(form, wiring.gate, wiring.max_body)})
        for path, endpoint in wiring.endpoints.items():
            self._routes.add(path, {"POST": endpoint})

    def add_api(self, specification: Specification, *, resolver: Resolver, **_: Any) -> None:
        """Compile the operations of the document."""
        raw = self._document
        schemas = Schemas(raw)
        for path, method, declared in contract.operations(raw):
            operation = specification.operation_cls.from_spec(
                specification, path=path, method=method, resolver=resolver
            )
            known = facts(raw, path, method, declared, self._wiring)
            run = compile_operation(raw, known, declared, operation.function, schemas, self._wiring)
            if self._wiring.verify:
                run = verified(run, Promises(raw, known, declared, schemas))
            if method == "get" and not declared.get("security", raw.get("security", [])):
                self._shared.add(run)
            for routes in self._routes_at(declared.get("x-listener", "public")):
                for place in (specification.base_path + path, *declared.get("x-aliases", ())):
                    routes.add(_template(raw, place, declared), {method.upper(): run})
            self._wiring.operations[declared["operationId"]] = run
        for name, part in self._wiring.off.items():
            for template, _method, declared in contract.operations(orjson.loads(part)):
                for place in (specification.base_path + template, *declared.get("x-aliases", ())):
                    self._off.add(place, {"": (name, "")})

    def _routes_at(self, listener: str) -> Sequence[Routes[Run]]:
        """Return the routes of ``x-listener``: ``public``, ``operator`` or ``both``."""
        if self._wiring.apart is None or listener == "both":
            return [self._routes, self._apart]
        return [self._apart if listener == "operator" else self._routes]

    def _routes_of_page(self, path: str) -> Sequence[Routes[Run]]:
        shared, operator = path.startswith(SHARED_PAGES), path.startswith(OPERATOR_PAGES)
        return self._routes_at("both" if shared else "operator" if operator else "public")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Process one request. Raises every refusal; the guard answers it."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        request: Request = scope["identity.request"]
        # The port is that of the socket that accepted the connection; a client cannot change it.
        came_apart = self._wiring.apart is not None and (scope["server"] or ("", None))[1] == self._wiring.apart
        try:
            targets, request.path = (self._apart if came_apart else self._routes).find(request.raw_path)
        except NotFound:
            raise self._not_served(request.raw_path) from None
        method = request.method
        run = targets.get(method) or (targets.get("GET") if method == "HEAD" else None)
        if run in self._shared:
            request.cross_origin = self._wiring.origins.headers(request)
        elif method == "OPTIONS" and targets.get("GET") in self._shared:
            request.cross_origin = self._wiring.origins.preflight(request)
        if run is not None:
            answer = await run(request, scope, receive)
        elif method == "OPTIONS":
            await self._wiring.gate.charge(request)
            answer = Answer(204, headers=[("allow", ", ".join(allowed(targets)))])
        else:
            raise MethodNotAllowed(details={"allow": [*allowed(targets)]})
        await deliver(answer, request, send)

    def _not_served(self, raw_path: bytes) -> NotFound:
        """Return the refusal of a path of an extension that is off. Raises ``NotFound``: for an unknown path."""
        name, key = self._off.find(raw_path)[0][""]
        remedy = f"Set {key} to true" if key else f"Enable it: identity extensions enable {name}"
        return NotFound("This path is off.", details={"extension": name, "remedy": f"{remedy}, then restart."})


def allowed(targets: Mapping[str, Run]) -> list[str]:
    """Return the methods of a path, sorted. HEAD comes with GET, OPTIONS always."""
    return sorted({*targets, "OPTIONS", *(("HEAD",) if "GET" in targets else ())})


def facts(
    document: Mapping[str, Any], path: str, method: str, declared: Mapping[str, Any], wiring: Wiring
) -> Operation:
    """Return the facts about an operation that the gate uses."""
    requirements = declared.get("security", document.get("security", []))
    names = [wiring.schemes[name] for requirement in requirements for name in requirement]
    challenges = {scheme: f'{scheme} realm="{REALM}"' for scheme in names}
    if BEARER in challenges and wiring.resource_metadata:
        # The place where an OAuth client finds the issuer of tokens (RFC 9728 §5.1).
        challenges[BEARER] += f', resource_metadata="{wiring.resource_metadata}"'
    bearer = challenges.get(BEARER, "")
    if bearer and "x-scope" in declared:
        # The scope that a token must have (RFC 6750 §3).
        challenges[BEARER] += f', scope="{declared["x-scope"]}"'
    return Operation(
        declared["operationId"],
        method.upper(),
        path,
        frozenset(names),
        ", ".join(challenges.values()),
        {} in requirements,
        shape=wiring.error_shapes.get(declared.get("x-error-schema", "")),
        bearer=bearer,
        purpose=declared.get("x-challenge-purpose", ""),
        cost=Cost.from_document(declared.get("x-cost", {}), needs_caller=bool(names) and {} not in requirements),
        keeps=declared.get("x-keeps", False),
        ends=declared.get("x-ends", False),
        waits=declared.get("x-waits", False),
        scope=declared.get("x-scope", ""),
    )


def _template(document: Mapping[str, Any], path: str, declared: Mapping[str, Any]) -> str:
    """Return the path for ``Routes``. A parameter of ``format: path`` matches several segments, as in Connexion."""
    for reference in declared.get("parameters", []):
        parameter = contract.dereference(document, reference)
        if parameter["in"] == "path" and parameter["schema"].get("format") == "path":
            path = path.replace(f"{{{parameter['name']}}}", f"{{{parameter['name']}:path}}")
    return path


def compile_operation(
    document: Mapping[str, Any],
    operation: Operation,
    declared: Mapping[str, Any],
    handler: Handler,
    schemas: Schemas,
    wiring: Wiring,
) -> Run:
    """Return the function that processes one operation, with all facts of the document bound in."""
    if wiring.refusals is not None:
        handler = wiring.refusals.around(operation, handler)
    if operation.waits:
        handler = wiring.gate.shared(handler)
    operation_id, admit = operation.operation_id, wiring.gate.admit
    find = partial(contract.dereference, document)
    parameters = [find(parameter) for parameter in declared.get("parameters", [])]
    path_parsers = _path_parsers(document, parameters, schemas)
    make = schemas.types.named.get(f"{pascal_name(operation.operation_id)}Query")
    query = Query([each for each in parameters if each["in"] == "query"], schemas, find, make)
    body = None
    if "requestBody" in declared:
        wanted = find(declared["requestBody"])
        body = RequestBody(wanted, schemas, min(wiring.max_body, int(declared.get("x-max-body", wiring.max_body))))
    takes_key = any(each["in"] == "header" and each["name"].lower() == "idempotency-key" for each in parameters)
    around = wiring.around if takes_key else None

    async def run(request: Request, scope: Scope, receive: Receive) -> Answer:
        request.operation = operation
        request.operation_id, request.query_octets = operation_id, scope["query_string"]
        if body is None:
            refuse_body(request)
        else:
            request.body_octets = await body.read(request, receive)
        if request.caller is None:
            # Only an endpoint of this service sets a caller and calls in process. A request from outside has none.
            request.caller, request.answer_headers = await admit(operation, request)
        for name, parse in path_parsers:
            parse(request.path[name])
        request.query = query.parse(request.query_octets)
        if body is not None:
            request.body = body.parse(request)
        if around is None or request.header("idempotency-key") is None:
            return await handler(request)
        return await around(request, lambda: handler(request))

    return run


def _path_parsers(
    document: Mapping[str, Any], parameters: list[Mapping[str, Any]], schemas: Schemas
) -> list[tuple[str, Parse]]:
    """Return the checks for path parameters. A DID has none, so that a malformed one is ``INVALID_DID``."""
    return [
        (each["name"], parser(each["name"], contract.dereference(document, each["schema"]), schemas, "string"))
        for each in parameters
        if each["in"] == "path" and each["name"] != "did"
    ]
