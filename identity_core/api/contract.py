"""Routes of the document, and the comparison of document and code before the first request.

Every operation must have a handler, and every handler an operation. Every security scheme must have a check, and the
guard must read every header parameter. If something does not fit, the start ends with one line.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, Generic, TypeVar
from urllib.parse import unquote_to_bytes

import orjson
from msgspec import Struct, field

from identity_codec.structs import python_name
from identity_core.api.request import NOTHING, Handler
from identity_core.api.transport import READ
from identity_core.errors import InvalidDid, InvalidRequest, NotFound
from identity_core.extension.compose import compose
from identity_core.extension.compose import operations as operations
from identity_core.settings import StartError


class ContractError(StartError):
    """Document and code do not fit. The message is one line."""


class OpenApiDocument(Struct, frozen=True):
    """The OpenAPI document. ``value``: as JSON. ``data``: the bytes of the file."""

    value: Mapping[str, Any]
    encoded: bytes


def load_document(parts: Mapping[str, bytes] | None = None) -> OpenApiDocument:
    """Return the document of the kernel with the ``parts`` of extensions, by name. Raises ``CompositionError``."""
    kernel = parse_document(resources.files("identity_core.api").joinpath("identity.json").read_bytes())
    if not parts:
        return kernel
    value = compose(kernel.value, {name: orjson.loads(data) for name, data in parts.items()})
    return OpenApiDocument(value, orjson.dumps(value))


def parse_document(data: bytes) -> OpenApiDocument:
    """Return the document of a file's bytes."""
    return OpenApiDocument(orjson.loads(data), data)


def dereference(document: Mapping[str, Any], part: Any) -> Any:
    """Return ``part``, or the part of the document to which its ``$ref`` points."""
    while isinstance(part, Mapping) and "$ref" in part:
        target: Any = document
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step.replace("~1", "/").replace("~0", "~")]
        part = target
    return part


def bind(document: Mapping[str, Any], handlers: Sequence[object], schemes: Mapping[str, str]) -> dict[str, Handler]:
    """Return a mapping of operationId to handler, made of the public coroutine methods of ``handlers``.

    ``schemes``: the security schemes that have a check.
    Raises ``ContractError``: when document and code do not fit.
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
        # An empty requirement admits unauthenticated clients (OpenAPI 3.0.3, Security Requirement Object).
        if len(requirement) > 1:
            raise ContractError(f"{where}: a security requirement names one scheme, alternatives are a list")
        for scheme in requirement:
            if scheme not in schemes or scheme not in declared:
                raise ContractError(f"{where}: no code checks the security scheme {scheme}")
    named = set()
    for reference in operation.get("parameters", []):
        parameter = dereference(document, reference)
        if parameter["in"] == "path":
            named.add(parameter["name"])
        elif parameter["in"] == "header" and parameter["name"].lower() not in READ.values():
            raise ContractError(f"{where}: no handler reads the header {parameter['name']}")
        elif parameter["in"] == "cookie":
            raise ContractError(f"{where}: no handler reads cookies")
    if named != set(re.findall(r"\{([^}]+)\}", path)):
        raise ContractError(f"{where}: the path and its parameters differ")


T = TypeVar("T")

_BROKEN_PERCENT = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def percent_decode(data: bytes) -> str:
    """Return the UTF-8 text of a percent-encoded segment.

    Raises ``ValueError``: for a broken escape, broken UTF-8 or a control character, including NUL.
    """
    if b"%" in data:
        if _BROKEN_PERCENT.search(data):
            raise ValueError("broken percent-encoding")
        data = unquote_to_bytes(data)
    text = data.decode("utf-8")
    # No control character is printable, and this check costs a fifth of a search.
    if not text.isprintable() and _CONTROL.search(text):
        raise ValueError("control character")
    return text


class _Node(Struct, Generic[T], eq=False):
    literals: dict[bytes, _Node[T]] = field(default_factory=dict)
    parameter: str | None = None
    following: _Node[T] | None = None
    # The parameter that takes everything to the end of the path, and its targets.
    rest: tuple[str, dict[str, T]] | None = None
    found: dict[str, T] | None = None


class Routes(Generic[T]):
    """Path templates such as ``/dids/{did}/history``, each with its targets by HTTP method.

    A last segment ``{name:path}`` matches one or more segments that no other template matches. OpenAPI has no notation
    for that; Connexion uses ``format: path``.
    """

    def __init__(self) -> None:
        self._static: dict[bytes, dict[str, T]] = {}
        # The literal segments before a first parameter, and their nodes.
        self._before_last: dict[bytes, _Node[T]] = {}
        self._root: _Node[T] = _Node()

    def add(self, template: str, targets: Mapping[str, T]) -> None:
        """Register ``template``. Raises ``ValueError``: when the same parameter already has another name."""
        node = self._root
        before = template.partition("/{")[0].encode("ascii")
        for segment in template.split("/")[1:]:
            if segment.startswith("{"):
                # Set at the first parameter; later ones leave it unchanged.
                self._before_last.setdefault(before, node)
            if segment.endswith(":path}"):
                node.rest = (segment[1:-6], {**(node.rest[1] if node.rest else {}), **targets})
                return
            if segment.startswith("{"):
                name = segment[1:-1]
                if node.parameter not in (None, name):
                    raise ValueError(f"{template}: the parameter {name} is called {node.parameter} in another path")
                node.parameter = name
                if node.following is None:
                    node.following = _Node()
                node = node.following
            else:
                node = node.literals.setdefault(segment.encode("ascii"), _Node())
        node.found = {**(node.found or {}), **targets}
        if "{" not in template:
            self._static[template.encode("ascii")] = node.found

    def find(self, raw_path: bytes) -> tuple[dict[str, T], Mapping[str, str]]:
        """Return the targets by method and the decoded parameters.

        Raises ``NotFound``: for an unknown path; ``InvalidDid`` or ``InvalidRequest``: for a parameter that is not
        text.
        """
        static = self._static.get(raw_path)
        if static is not None:
            return static, NOTHING
        return self._near(raw_path) or self._walked(raw_path)

    def _near(self, raw_path: bytes) -> tuple[dict[str, T], Mapping[str, str]] | None:
        """Return the result of ``find`` for a path with a valid parameter in its last segment only, which nearly all
        are. None for others."""
        before, _, last = raw_path.rpartition(b"/")
        node = self._before_last.get(before)
        if node is None or not last or _literal(node, last) is not None:
            return None
        following = node.following
        name, found = node.rest or (node.parameter, following.found if following is not None else None)
        if name is None or found is None:
            return None
        try:
            return found, {name: percent_decode(last)}
        except ValueError:
            return None

    def _walked(self, raw_path: bytes) -> tuple[dict[str, T], Mapping[str, str]]:
        node = self._root
        values: dict[str, str] = {}
        broken: str | None = None
        segments = raw_path.split(b"/")[1:]
        nearest: tuple[str, dict[str, T]] = ("", {})
        for place, segment in enumerate(segments):
            if node.rest is not None:
                nearest, below = node.rest, segments[place:]
            literal = _literal(node, segment)
            if literal is not None:
                node = literal
                continue
            if node.rest is not None or node.following is None or node.parameter is None or not segment:
                node = _Node()
                break
            try:
                values[node.parameter] = percent_decode(segment)
            except ValueError:
                broken = node.parameter
            node = node.following
        if node.found is None and not nearest[1]:
            raise NotFound
        _refuse_broken(broken)
        return (node.found, values) if node.found is not None else (nearest[1], values | _rest(nearest[0], below))


def _refuse_broken(parameter: str | None) -> None:
    """Raise the error of a parameter that is not text, if there is one."""
    if parameter == "did":
        raise InvalidDid(details={"reason": "encoding"})
    if parameter is not None:
        raise _not_text(parameter)


def _rest(name: str, segments: list[bytes]) -> dict[str, str]:
    """Return the rest of the path, decoded segment by segment."""
    try:
        return {name: "/".join(map(percent_decode, segments))}
    except ValueError:
        raise _not_text(name) from None


def _not_text(name: str) -> InvalidRequest:
    says = "A path parameter is not percent-encoded UTF-8 without control characters."
    return InvalidRequest(says, details={"parameter": name})


def _literal(node: _Node[T], segment: bytes) -> _Node[T] | None:
    """Return the literal child with the name ``segment``, which may have needless escapes (RFC 3986 §6.2.2.2:
    equivalent)."""
    if b"%" not in segment:
        return node.literals.get(segment)
    return None if _BROKEN_PERCENT.search(segment) else node.literals.get(unquote_to_bytes(segment))
