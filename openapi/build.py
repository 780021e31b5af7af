"""Build what is generated from the document: the bundles, the stubs of the wire types and the members of errors.

    python -m openapi.build            writes the generated files
    python -m openapi.build --check    writes nothing, fails when one of them is not fresh

Join the root and the parts, write the error responses of every operation from ``errors.yaml``, the purpose of its challenge and
the examples of ``examples/`` into it. ``identity_core/api/identity.json`` is the document of the kernel, ``document.json`` of an extension
is what its sources in ``plugins/<name>/openapi`` add, and ``reference.json`` is all of them. The output depends on the sources alone,
byte for byte. It resolves no references: those of the sources are already those of the whole, and the bundle keeps them, since inlined
ones are useless to generators.
"""

from __future__ import annotations

import importlib
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml
from msgspec import structs

from identity_codec.structs import Types
from identity_core.extension.compose import CompositionError, compose
from openapi.client_rules import adapt
from openapi.error_classes import TEXTS, error_members, write_members
from openapi.error_classes import write_stub as write_error_stub
from openapi.served_operations import operations_of
from openapi.wire_stub import write_stub

# The parts of the document in its order. One that is not listed is written but not yet served.
PARTS: Final = ("dids", "auth", "service", "delegations", "credentials", "proofs")

HERE: Final = Path(__file__).resolve().parent
BUNDLE: Final = HERE.parent / "identity_core" / "api" / "identity.json"
REFERENCE: Final = HERE / "reference.json"
STUB: Final = HERE.parent / "identity_core" / "wire.pyi"
OPERATIONS: Final = HERE.parent / "packages" / "identity_client" / "identity_client" / "operations.json"
ERRORS: Final = HERE.parent / "identity_core" / "errors.json"
ERROR_STUB: Final = ERRORS.with_suffix(".pyi")
METHODS: Final = ("get", "put", "post", "delete", "patch")
CATALOGUE: Final = "x-error-catalogue"
MAX_INTEGER: Final = 2**53 - 1
EXAMPLE_REQUEST_ID: Final = "0190b6e1f3a7"

# Headers that are part of what a status or a code means, whatever the operation.
STATUS_HEADERS: Final = {
    "401": {"WWW-Authenticate": "WwwAuthenticate"},
    "405": {"Allow": "Allow"},
    "429": {"Retry-After": "RetryAfter", "RateLimit": "RateLimit", "RateLimit-Policy": "RateLimitPolicy"},
    "503": {"Retry-After": "RetryAfter"},
}

Json = dict[str, Any]


class SourceError(Exception):
    """The sources do not make a document; the message says where."""


class _Loader(yaml.SafeLoader):
    """YAML without its traps: a name that comes twice in a mapping is refused, a date stays text."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = [key.value for key, _ in node.value]
        repeated = {name for name in names if names.count(name) > 1}
        if repeated:
            raise SourceError(f"{node.start_mark}: {sorted(repeated)} repeated")
        return super().construct_mapping(node, deep)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(source: Path) -> Json:
    """Return a source file. Aliases become copies, so that a change of one place does not change another."""
    loaded = yaml.load(source.read_text(encoding="utf-8"), Loader=_Loader)
    copied: Json = json.loads(json.dumps(loaded, allow_nan=False))
    return copied


def extensions() -> dict[str, Path]:
    """Return the folder of each extension of this repository that has operations, by its name."""
    return {folder.parent.name: folder.parent for folder in sorted((HERE.parent / "plugins").glob("*/openapi"))}


def bundle(*added: Path) -> Json:
    """Return the document of the kernel, with the operations of the extensions whose folders are ``added``, as JSON."""
    document = read(HERE / "identity.yaml")
    document.setdefault("paths", {})
    sources = {name: (HERE / "paths" / f"{name}.yaml", HERE / "examples" / f"{name}.yaml") for name in PARTS}
    sources |= {one.name: (one / "openapi" / "paths.yaml", one / "openapi" / "examples.yaml") for one in added}
    for name, (paths, _) in sources.items():
        part = read(paths)
        document["tags"] += [tag for tag in part.get("tags", []) if tag not in document["tags"]]
        _join(document["paths"], part["paths"], name)
        for kind, members in part.get("components", {}).items():
            _join(document["components"].setdefault(kind, {}), members, name)
    _name_members(document["components"]["schemas"])
    _bound_integers(document)
    adapt(document)
    errors = read(HERE / "errors.yaml")
    used = set(errors["anywhere"])
    responses: Json = {}
    reading = [item["get"]["operationId"] for item in document["paths"].values() if "get" in item]
    for method, operation in operations(document):
        _describe_purpose(operation)
        if "x-challenge-purpose" in operation and operation["operationId"] not in reading:
            operation["x-errors"] = [*operation.get("x-errors", []), *errors["rules"]["of_writing_dids"]]
        used |= _answer_errors(method, operation, errors, responses)
        operation["responses"] = dict(sorted(operation["responses"].items()))
    codes = {code: meaning for code, meaning in errors["codes"].items() if code in used}
    document["components"]["responses"] = dict(sorted(responses.items()))
    document["components"]["examples"] = {
        code: _error_example(code, entry) for code, entry in codes.items() if code in _referred(responses)
    }
    document[CATALOGUE] = {
        code: {name: entry[name] for name in (*TEXTS, "meaning") if name in entry} for code, entry in codes.items()
    }
    for _, examples in sources.values():
        _show_examples(document, read(examples))
    for kind, name in re.findall(r'"#/components/(\w+)/([^"]+)"', json.dumps(document)):
        if name not in document["components"].get(kind, {}):
            raise SourceError(f"#/components/{kind}/{name} is referred to, and no part of the document has it")
    return document


def part_of(whole: Json, kernel: Json) -> Json:
    """Return what ``whole`` adds to the document of the kernel. Raises ``SourceError``: when it changes something of that."""
    part: Json = {"tags": [tag for tag in whole["tags"] if tag not in kernel["tags"]], "paths": {}, "components": {}}
    for path, item in whole["paths"].items():
        if more := {method: each for method, each in item.items() if method not in kernel["paths"].get(path, {})}:
            part["paths"][path] = more
    for kind, members in whole["components"].items():
        if more := {name: one for name, one in members.items() if name not in kernel["components"][kind]}:
            part["components"][kind] = more
    part[CATALOGUE] = {code: one for code, one in whole[CATALOGUE].items() if code not in kernel[CATALOGUE]}
    try:
        changed = compose(kernel, {"part": part}) != whole
    except CompositionError as error:
        raise SourceError(str(error)) from error
    if changed:
        raise SourceError(f"{sorted(part['paths'])}: an extension changes a part of the kernel's document")
    return part


def operations(document: Mapping[str, Any]) -> Iterator[tuple[str, Json]]:
    """Every operation object, behind its method."""
    for item in document["paths"].values():
        for method in METHODS:
            if method in item:
                yield method, item[method]


def _join(whole: Json, part: Mapping[str, Any], name: str) -> None:
    differing = [one for one in sorted(whole.keys() & part.keys()) if whole[one] != part[one]]
    if differing:
        raise SourceError(f"{name}: {differing} is there already with another content")
    whole.update(part)


def _bound_integers(part: Any) -> None:
    """No 64-bit integer is larger than what every reader of JSON holds exactly (RFC 8259 §6)."""
    if isinstance(part, dict):
        if part.get("format") == "int64":
            part.setdefault("maximum", MAX_INTEGER)
        part = list(part.values())
    for inner in part if isinstance(part, list) else ():
        _bound_integers(inner)


def _name_members(schemas: Json) -> None:
    """Give the members of named enumerations names that stand once in the document, because in Go and C they share one scope. A source may
    choose shorter ones."""
    for name, schema in schemas.items():
        if "enum" in schema:
            prefix = _words(name)
            schema.setdefault("x-enum-varnames", [f"{prefix}_{_words(value)}" for value in schema["enum"]])


def _words(name: str) -> str:
    """``AnchorStatus`` and ``anchor-status`` as ``ANCHOR_STATUS``."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|-", "_", name).upper()


def _describe_purpose(operation: Json) -> None:
    """End the description of an operation that takes signatures with the purpose that their challenge must have."""
    purpose = operation.get("x-challenge-purpose")
    if purpose is not None:
        description = operation["description"].rstrip()
        gap = "\n\n" if "\n\n" in description else " "
        operation["description"] = f"{description}{gap}A challenge with a purpose must say `{purpose}`."


def _answer_errors(method: str, operation: Json, errors: Mapping[str, Any], responses: Json) -> set[str]:
    """Adds the responses for every code that the operation can give; returns the codes.

    The ``x-errors`` of the operation and what follows from its shape, without ``x-never``. Codes of one status share a
    response, and operations share equal responses. A status that the operation describes itself stays as it is.
    """
    rules = errors["rules"]
    codes = [*rules["always"], *operation.pop("x-errors", [])]
    if operation["security"]:
        codes += rules["with_security"]
    if "requestBody" in operation:
        codes += rules["with_body"]
    if method != "get":
        codes += rules["changing"]
    if {"$ref": "#/components/parameters/IdempotencyKey"} in operation.get("parameters", []):
        codes += rules["with_idempotency_key"]
    never = operation.pop("x-never", [])
    # In the order of the catalogue, so that equal sets are equal responses.
    chosen = [code for code in errors["codes"] if code in codes and code not in never]
    unknown = set(codes) - set(errors["codes"])
    if unknown:
        raise SourceError(f"{operation['operationId']}: {sorted(unknown)} has no entry in errors.yaml")
    for status, response in operation["responses"].items():
        limits = ("RateLimit", "RateLimit-Policy") if status.startswith("2") else ()
        _add_headers(response, status, *limits)
    schema = operation.get("x-error-schema", "ErrorResponse")
    for status in sorted({str(errors["codes"][code]["status"]) for code in chosen} - operation["responses"].keys()):
        same = [code for code in chosen if str(errors["codes"][code]["status"]) == status]
        name = "Or".join("".join(word.capitalize() for word in code.split("_")) for code in same)
        if schema != "ErrorResponse":
            name = f"{schema}{name}"
        responses.setdefault(name, _error_response(same, status, errors["codes"], schema))
        operation["responses"][status] = {"$ref": f"#/components/responses/{name}"}
    return set(chosen)


def _error_response(codes: list[str], status: str, catalogue: Mapping[str, Any], schema: str) -> Json:
    examples: Json = {code: {"$ref": f"#/components/examples/{code}"} for code in codes}
    media = "application/json"
    if schema != "ErrorResponse":
        media, refused = _refusals()[schema]
        shown = {code: _error_example(code, catalogue[code])["value"]["error"] for code in codes}
        examples = {code: {"value": refused(error)} for code, error in shown.items()}
    response = {
        "description": "\n".join(f"- `{code}`: {catalogue[code]['meaning']}" for code in codes),
        "x-error-codes": codes,
        "content": {media: {"schema": {"$ref": f"#/components/schemas/{schema}"}, "examples": examples}},
    }
    waits = any("retryAfter" in catalogue[code].get("details", {}) for code in codes)
    _add_headers(response, status, *(("Retry-After",) if waits else ()))
    return response


@cache
def _refusals() -> dict[str, tuple[str, Callable[[Json], Json]]]:
    """Return the schemas of refusals that follow another standard: their media type, and what an error is in them.

    An extension states them in the module ``refusals`` of its folder ``openapi``.
    """
    found: dict[str, tuple[str, Callable[[Json], Json]]] = {}
    for name, folder in extensions().items():
        if (folder / "openapi" / "refusals.py").exists():
            found |= importlib.import_module(f"plugins.{name}.openapi.refusals").REFUSALS
    return found


def _referred(responses: Mapping[str, Any]) -> set[str]:
    """The codes whose example some response refers to."""
    contents = [content for response in responses.values() for content in response["content"].values()]
    return {code for content in contents for code, example in content["examples"].items() if "$ref" in example}


def _add_headers(response: Json, status: str, *more: str) -> None:
    named = {"X-Request-Id": "RequestId", **STATUS_HEADERS.get(status, {})}
    named |= {name: name.replace("-", "") for name in more}
    headers = {name: {"$ref": f"#/components/headers/{component}"} for name, component in named.items()}
    response["headers"] = response.get("headers", {}) | headers


def _error_example(code: str, entry: Mapping[str, Any]) -> Json:
    details = {"remedy": entry["remedy"], **entry.get("details", {}), "requestId": EXAMPLE_REQUEST_ID}
    return {"summary": code, "value": {"error": {"code": code, "message": entry["message"], "details": details}}}


def _show_examples(document: Json, examples: Mapping[str, Any]) -> None:
    """``examples`` is operationId → ``request`` or status (or "status media type") → name → value."""
    by_id = {operation["operationId"]: operation for _, operation in operations(document)}
    for operation_id, shown in examples.items():
        if operation_id not in by_id:
            raise SourceError(f"examples: {operation_id} is not an operation")
        for place, values in shown.items():
            status, _, media = place.partition(" ")
            operation = by_id[operation_id]
            target = operation["requestBody"] if place == "request" else operation["responses"][status]
            content = target["content"][media or next(iter(target["content"]))]
            content["examples"] = {name: {"value": value} for name, value in values.items()}


def encode(document: Mapping[str, Any]) -> bytes:
    """Return the bytes of the bundle in ASCII: readers of YAML 1.1 refuse the control characters U+0080 to U+009F."""
    return json.dumps(document, indent=1, allow_nan=False).encode() + b"\n"


def outputs() -> dict[Path, bytes]:
    """Return every generated file and what it must hold."""
    kernel = bundle()
    types, parts = Types(kernel), dict[str, Json]()
    errors = error_members(read(HERE / "errors.yaml"))
    found = {
        BUNDLE: encode(kernel),
        STUB: write_stub("identity_core.wire", types.named).encode(),
        ERRORS: write_members(errors),
        ERROR_STUB: write_error_stub(errors),
    }
    for name, folder in extensions().items():
        parts[name], package = part_of(bundle(folder), kernel), folder / f"identity_{name}"
        found[package / "document.json"] = encode(parts[name])
        before = set(types.named)
        types.add(parts[name])
        own = {each: made for each, made in types.named.items() if each not in before}
        text = write_stub(f"{package.name}.wire", own, head="\nDOCUMENT: bytes\n")
        found[package / "wire.pyi"] = _with_imports(text, before).encode()
    reference = compose(kernel, parts)
    table = {name: structs.asdict(each) for name, each in operations_of(reference).items()}
    return found | {REFERENCE: encode(reference), OPERATIONS: encode(table)}


def _with_imports(stub: str, kernel: set[str]) -> str:
    """Return the stub of an extension with the import of the types of ``kernel`` that it names."""
    used = sorted(kernel & set(re.findall(r"\b[A-Z]\w+\b", stub.partition("\nDOCUMENT")[2])))
    imports = f"from identity_core.wire import {', '.join(used)}\n" if used else ""
    return stub.replace("\nDOCUMENT", f"{imports}\nDOCUMENT", 1)


def main(arguments: list[str]) -> int:
    """Writes, or with ``--check`` compares."""
    stale = [path for path, data in outputs().items() if not path.exists() or path.read_bytes() != data]
    if "--check" in arguments:
        for path in stale:
            print(f"{path.name} is not fresh: run python -m openapi.build", file=sys.stderr)
        return 1 if stale else 0
    for path, data in outputs().items():
        if path in stale:
            path.write_bytes(data)
            print(f"wrote {path.name}, {len(data)} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
