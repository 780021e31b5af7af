"""The pass of one operation, with everything that the document decides bound in when the application is built."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from identity_core.api import contract
from identity_core.api.decode import Parse, Query, RequestBody, parser, refuse_body
from identity_core.api.promises import Run
from identity_core.api.request import Answer, Handler, Operation, Request
from identity_core.api.schemas import Schemas
from identity_core.api.transport import Receive, Scope
from identity_core.codec.structs import pascal_name

if TYPE_CHECKING:
    from identity_core.api.dispatch import Wiring


def compile_operation(
    document: Mapping[str, Any],
    operation: Operation,
    declared: Mapping[str, Any],
    handler: Handler,
    schemas: Schemas,
    wiring: Wiring,
) -> Run:
    """The pass of one operation, with everything that the document decides bound in."""
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
            # Who is there already was admitted by an endpoint of ours, which asks in process; no request from outside has one.
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
    """Checks for path parameters; a DID has none, so that a bad one is ``INVALID_DID``."""
    return [
        (each["name"], parser(each["name"], contract.dereference(document, each["schema"]), schemas, "string"))
        for each in parameters
        if each["in"] == "path" and each["name"] != "did"
    ]
