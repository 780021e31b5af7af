"""A tiny document with handlers that need no database, for tests of the edge alone."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import unquote

import orjson
from msgspec import structs

from identity_codec.structs import plain
from identity_core.api.app import build_app
from identity_core.api.contract import OpenApiDocument, parse_document
from identity_core.api.dispatch import Wiring
from identity_core.api.guard import Guard, request_ids
from identity_core.api.request import Answer, Handler, Headers, Operation, Request
from identity_core.domain.callers import Caller
from identity_core.domain.dids.did import Did
from identity_core.errors import AuthFailed, AuthRequired, DidNotFound, InternalError, RateLimited

SCHEMES = {"ApiKeyHeader": "ApiKey", "ApiKeyAuth": "ApiKey", "DidAuth": "DIDAuth"}
KEY = "k" * 32
DID = "did:toy:abc"


def response(schema: str | None = None) -> dict[str, Any]:
    if schema is None:
        return {"200": {"description": "Done."}}
    reference = {"$ref": f"#/components/schemas/{schema}"}
    return {"200": {"description": "Done.", "content": {"application/json": {"schema": reference}}}}


DID_PARAMETER = {"name": "did", "in": "path", "required": True, "schema": {"type": "string"}}
DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Toy", "version": "1.0.0"},
    "servers": [{"url": "/api/v1"}],
    "paths": {
        "/health": {
            "get": {"operationId": "getHealth", "x-aliases": ["/health"], "responses": response(), "security": []}
        },
        "/dids": {
            "get": {
                "operationId": "listDids",
                "security": [{"ApiKeyHeader": []}, {"ApiKeyAuth": []}],
                "parameters": [
                    {
                        "name": "limit",
                        "in": "query",
                        "schema": {"type": "integer", "minimum": 1, "maximum": 200, "default": 50},
                    },
                    {"name": "cursor", "in": "query", "schema": {"type": "string", "maxLength": 16}},
                    {"name": "includeDocument", "in": "query", "schema": {"type": "boolean"}},
                    {"name": "order", "in": "query", "schema": {"type": "string", "enum": ["asc", "desc"]}},
                ],
                "responses": response(),
            },
            "post": {
                "operationId": "createDid",
                "security": [{"ApiKeyHeader": []}, {"ApiKeyAuth": []}],
                "parameters": [{"name": "Idempotency-Key", "in": "header", "schema": {"type": "string"}}],
                "requestBody": {
                    "required": True,
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/CreateDidRequest"}}},
                },
                "responses": response(),
            },
        },
        "/dids/{did}": {
            "get": {
                "operationId": "resolveDid",
                "security": [],
                "parameters": [
                    DID_PARAMETER,
                    {"name": "versionId", "in": "query", "schema": {"type": "integer", "minimum": 1}},
                    {"name": "versionTime", "in": "query", "schema": {"type": "string", "format": "date-time"}},
                ],
                "responses": response(),
            },
            "delete": {
                "operationId": "deactivateDid",
                "security": [{"DidAuth": []}],
                "parameters": [DID_PARAMETER],
                "x-max-body": 1024,
                "requestBody": {
                    "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Reason"}}},
                },
                "responses": response(),
            },
        },
        "/keys/{keyId}": {
            "get": {
                "operationId": "getKey",
                "security": [],
                "parameters": [
                    {
                        "name": "keyId",
                        "in": "path",
                        "required": True,
                        "schema": {"type": "string", "pattern": "^[a-z0-9]+$"},
                    }
                ],
                "responses": response(),
            }
        },
    },
    "components": {
        "securitySchemes": {
            "ApiKeyHeader": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            "ApiKeyAuth": {"type": "apiKey", "in": "header", "name": "Authorization"},
            "DidAuth": {"type": "apiKey", "in": "header", "name": "Authorization"},
        },
        "schemas": {
            "CreateDidRequest": {
                "type": "object",
                "required": ["method"],
                "additionalProperties": False,
                "properties": {
                    "method": {"type": "string", "maxLength": 20},
                    "note": {"type": "string", "nullable": True},
                    "at": {"type": "string", "format": "date-time"},
                    "count": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                    "tree": {"$ref": "#/components/schemas/Tree"},
                },
            },
            "Tree": {
                "type": "object",
                "additionalProperties": False,
                "properties": {"children": {"type": "array", "items": {"$ref": "#/components/schemas/Tree"}}},
            },
            "Reason": {"type": "object", "properties": {"reason": {"type": "string"}}},
        },
    },
}


def read(query: Any) -> dict[str, Any]:
    """The parameters of a query that were given, or that have a default, by the names that Python has for them."""
    values = dict(query) if isinstance(query, Mapping) else structs.asdict(query)
    return {name: value for name, value in values.items() if value is not None}


class ToyHandlers:
    """Answers with what it was given."""

    def __init__(self) -> None:
        self.calls: list[Request] = []

    async def get_health(self, request: Request) -> Answer:
        return Answer(200, {"status": "ok"})

    async def list_dids(self, request: Request) -> Answer:
        return self._record(request)

    async def create_did(self, request: Request) -> Answer:
        return self._record(request)

    async def resolve_did(self, request: Request) -> Answer:
        Did.parse(request.path["did"])
        if "missing" in request.path["did"]:
            raise DidNotFound(details={"did": request.path["did"]})
        if "crash" in request.path["did"]:
            raise ValueError("secret z3u2en7t5LR2WtQH5PfFqMqwVHgeXouLzo6haApm8XHqvjxq leaked")
        return self._record(request)

    async def deactivate_did(self, request: Request) -> Answer:
        return self._record(request)

    async def get_key(self, request: Request) -> Answer:
        return self._record(request)

    def _record(self, request: Request) -> Answer:
        self.calls.append(request)
        return Answer(200, {"path": dict(request.path), "query": read(request.query), "body": plain(request.body)})


class ToyGate:
    """Knows one API key; refuses the credential ``flood`` with 429, and what reaches no operation while ``is_address_empty``."""

    def __init__(self) -> None:
        self.is_address_empty = False

    async def admit(self, operation: Operation, request: Request) -> tuple[Caller | None, Headers]:
        given = {each.split()[-1] for each in request.all_headers("authorization")} | {
            *request.all_headers("x-api-key")
        }
        request.answer_headers = [("RateLimit", '"key";r=1;t=1')]
        if "flood" in given:
            raise RateLimited(details={"retryAfter": 1.2})
        if not operation.schemes:
            return None, request.answer_headers
        if not given:
            raise AuthRequired
        if given != {KEY}:
            raise AuthFailed
        return Caller(), request.answer_headers

    async def charge(self, request: Request, tokens: int = 1) -> None:
        request.paid = True
        request.answer_headers = (*request.answer_headers, ("RateLimit", '"address";r=1;t=1'))
        if self.is_address_empty:
            raise RateLimited(details={"retryAfter": 1.2})

    def shared(self, handler: Handler) -> Handler:
        return handler


@asynccontextmanager
async def no_lifespan(app: object) -> AsyncIterator[None]:
    yield


def build_toy(
    handlers: object | None = None,
    *,
    document: Mapping[str, Any] = DOCUMENT,
    observed: list[tuple[str, int]] | None = None,
    **options: Any,
) -> Guard:
    """The toy application; ``observed`` collects (operation, status)."""
    loaded: OpenApiDocument = parse_document(orjson.dumps(document))
    seen = [] if observed is None else observed
    settings: dict[str, Any] = {
        "gate": ToyGate(),
        "around": None,
        "refusals": None,
        "schemes": SCHEMES,
        "observe": lambda request, seconds: seen.append((request.operation_id, request.status)),
        "identify": request_ids("toy"),
        "monotonic": ticking(),
        "lifespan": no_lifespan,
        "pages": {},
    }
    settings |= options
    wiring = Wiring(**{each: settings.pop(each) for each in Wiring.__struct_fields__ if each in settings})
    return build_app(loaded, [handlers or ToyHandlers()], wiring, **settings)


def ticking() -> Callable[[], float]:
    """Return a monotonic clock that advances by a second at each read."""
    count = itertools.count()
    return lambda: float(next(count))


class Reply:
    """An answer as it left the application."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.status: int = messages[0]["status"]
        self.raw_headers: list[tuple[bytes, bytes]] = messages[0]["headers"]
        self.headers = {name.decode(): value.decode() for name, value in self.raw_headers}
        self.body: bytes = b"".join(message.get("body", b"") for message in messages[1:])

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)

    @property
    def error(self) -> dict[str, Any]:
        """The inside of the one error shape; whatever is not that shape is an InternalError of the test."""
        body = self.json
        if set(body) != {"error"} or set(body["error"]) != {"code", "message", "details"}:
            raise InternalError(f"not the error shape: {body}")
        if body["error"]["details"]["requestId"] != self.headers["x-request-id"]:
            raise InternalError("another request id")
        return body["error"]


def ask(app: Guard, *arguments: Any, **options: Any) -> Reply:
    """``call`` for a test that is not a coroutine."""
    return asyncio.run(call(app, *arguments, **options))


async def call(
    app: Guard,
    method: str = "GET",
    target: str | bytes = "/api/v1/health",
    *,
    headers: list[tuple[str, str | bytes]] | None = None,
    body: bytes | list[bytes] = b"",
    host: str | None = "toy",
) -> Reply:
    """One request, as a server would hand it over. A list of parts is a chunked body."""
    raw = target if isinstance(target, bytes) else target.encode()
    path, _, query = raw.partition(b"?")
    parts = body if isinstance(body, list) else [body]
    fields = [] if host is None else [(b"host", host.encode())]
    fields += [(name.encode(), value if isinstance(value, bytes) else value.encode()) for name, value in headers or []]
    if isinstance(body, list):
        fields.append((b"transfer-encoding", b"chunked"))
    elif body:
        fields.append((b"content-length", b"%d" % len(body)))
    scope = {
        "type": "http",
        "method": method,
        "http_version": "1.1",
        "path": unquote(path.decode("latin-1")),
        "raw_path": path,
        "query_string": query,
        "headers": fields,
        "client": ("192.0.2.7", 4711),
        "root_path": "",
    }
    incoming = iter(
        {"type": "http.request", "body": part, "more_body": index < len(parts) - 1} for index, part in enumerate(parts)
    )
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        for message in incoming:
            return message
        await asyncio.Event().wait()  # for the client to go away, which it does not
        return {}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return Reply(sent)
