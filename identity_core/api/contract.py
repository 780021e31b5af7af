"""Document and code, held against each other before the first request.

Every operation has a handler, every handler an operation, every security scheme somebody who checks it, every header
parameter is one that the guard reads. What does not fit stops the start with one line.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

import orjson

from identity_codec.structs import python_name
from identity_codec.values import value_class
from identity_core.api.request import Handler
from identity_core.api.transport import READ
from identity_core.extension.compose import compose
from identity_core.extension.compose import operations as operations
from identity_core.settings import StartError


class ContractError(StartError):
    """Document and code do not fit; the message is one line."""


@value_class
class OpenApiDocument:
    """The OpenAPI document: ``value`` as JSON, ``octets`` as the file has it."""

    value: Mapping[str, Any]
    octets: bytes


def load_document(parts: Mapping[str, bytes] | None = None) -> OpenApiDocument:
    """Return the document of the kernel with the ``parts`` of extensions, by name. Raises ``CompositionError``."""
    kernel = parse_document(resources.files("identity_core.api").joinpath("identity.json").read_bytes())
    if not parts:
        return kernel
    value = compose(kernel.value, {name: orjson.loads(octets) for name, octets in parts.items()})
    return OpenApiDocument(value, orjson.dumps(value))


def parse_document(octets: bytes) -> OpenApiDocument:
    """A document from its file."""
    return OpenApiDocument(orjson.loads(octets), octets)


def dereference(document: Mapping[str, Any], part: Any) -> Any:
    """``part``, or what its ``$ref`` names inside the document."""
    while isinstance(part, Mapping) and "$ref" in part:
        target: Any = document
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        part = target
    return part


def bind(document: Mapping[str, Any], handlers: Sequence[object], schemes: Mapping[str, str]) -> dict[str, Handler]:
    """operationId → handler, the public coroutine methods of ``handlers``.

    ``schemes`` are the security schemes that somebody checks. Raises ``ContractError`` for whatever does not fit.
    """
    found: dict[str, Handler] = {}
    for handler_object in handlers:
        for name, _ in inspect.getmembers(type(handler_object), inspect.iscoroutinefunction):
            if name.startswith("_"):
                continue
            if name in found:
                raise ContractError(f"two handlers are called {name}")
            found[name] = getattr(handler_object, name)
    bound: dict[str, Handler] = {}
    for path, method, operation in operations(document):
        where = f"{method.upper()} {path}"
        operation_id = operation.get("operationId")
        if operation_id is None:
            raise ContractError(f"{where} has no operationId")
        if operation_id in bound:
            raise ContractError(f"{where}: the operationId {operation_id} is taken")
        handler = found.get(python_name(operation_id))
        if handler is None:
            raise ContractError(f"{where}: no handler is called {python_name(operation_id)}")
        bound[operation_id] = handler
        _check_operation(document, where, path, operation, schemes)
    idle = sorted(set(found) - {python_name(operation_id) for operation_id in bound})
    if idle:
        raise ContractError(f"no operation of the document belongs to the handler {idle[0]}")
    return bound


def _check_operation(
    document: Mapping[str, Any], where: str, path: str, operation: Mapping[str, Any], schemes: Mapping[str, str]
) -> None:
    if "parameters" in document["paths"][path]:
        raise ContractError(f"{where}: parameters belong to the operation, not to the path")
    declared = document.get("components", {}).get("securitySchemes", {})
    for requirement in operation.get("security", document.get("security", [])):
        # An empty one lets strangers in (OpenAPI 3.0.3, Security Requirement Object).
        if len(requirement) > 1:
            raise ContractError(f"{where}: a security requirement names one scheme, alternatives are a list")
        for scheme in requirement:
            if scheme not in schemes or scheme not in declared:
                raise ContractError(f"{where}: nobody checks the security scheme {scheme}")
    named = set()
    for reference in operation.get("parameters", []):
        parameter = dereference(document, reference)
        if parameter["in"] == "path":
            named.add(parameter["name"])
        elif parameter["in"] == "header" and parameter["name"].lower() not in READ.values():
            raise ContractError(f"{where}: nobody reads the header {parameter['name']}")
        elif parameter["in"] == "cookie":
            raise ContractError(f"{where}: nobody reads cookies")
    if named != set(re.findall(r"\{([^}]+)\}", path)):
        raise ContractError(f"{where}: the path and its parameters differ")
