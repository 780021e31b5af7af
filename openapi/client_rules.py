"""Rewrites of the document for the tools that read it: titles of inline schemas, examples of path parameters, patterns.

Each of them keeps the meaning of the document. ``tests/contract/test_generator_rules.py`` checks the result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

Json = dict[str, Any]

# Go and PHP have no ``\u0000`` in a pattern; every engine has ``\x00``.
NO_CONTROL_CHARACTERS: Final = r"^[^\x00-\x1f\x7f]*$"
_DID: Final = "did:ids:QmPdn589kkBJKooQMPRUHHsRXAUDJAqunTWzvoEFGy5t6P"
# A value of each path parameter, of the form that the service makes.
PATH_EXAMPLES: Final[dict[str, str]] = {
    "namedDid": "did:ids:QmSQdE7kRbgMzsSxPyKgUq7tgwJKmocZUDn5UyUHVFAY94",
    "did": _DID,
    "consentId": "5f0c1b8e6f1a4c529a0e3d3a1d7c9b215f0c1b8e6f1a4c529a0e3d3a1d7c9b21",
    "identifier": _DID,
    "keyId": "key_3q2-7wAAAAAAAAAA",
    "delegationId": "7c9e6679-7425-40de-944b-e07fc1f90ae7",
    "credentialId": "urn:uuid:8f4c0f52-0f5e-4d1e-9d0b-5f6d1c7a2b11",
    "schemaId": "https://schemas.example/person/1",
    "statusListId": "fS7qN4WyrEfgled8IR25GQ",
    "gapListId": "fS7qN4WyrEfgled8IR25GQ",
    "proofId": "4f0c1b8e-6f1a-4c52-9a0e-3d3a1d7c9b21",
    "requestId": "b2Zx8sYt0QmM3yq1t9v7Rw",
    "digest": "47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU",
    "transactionHash": "9f2c1f0d9a7be52b9a0a4c3a5f6d21c77a0a8c0b4d5de8b3f0a1c2d3e4f50617",
    "blockNumber": "1",
    "epoch": "20454",
    "level": "0",
    "tile": "000",
}


class MissingExampleError(Exception):
    """A path parameter without an example; the message names it."""


def adapt(document: Json) -> None:
    """Apply every rewrite to ``document``. Raises ``MissingExampleError``."""
    components = document["components"]
    operations = [each for item in document["paths"].values() for each in item.values()]
    listed = [parameter for operation in operations for parameter in operation.get("parameters", ())]
    for parameter in (*listed, *components["parameters"].values()):
        if parameter.get("in") == "path":
            _complete_path_parameter(parameter)
    for name, schema in components["schemas"].items():
        for title, inline in _inline_schemas(name, schema):
            inline.setdefault("title", title)
    for operation in operations:
        prefix = _pascal(operation["operationId"])
        for parameter in operation.get("parameters", ()):
            if "enum" in parameter.get("schema", {}):
                parameter["schema"].setdefault("title", f"{prefix}{_pascal(parameter['name'])}")


def _complete_path_parameter(parameter: Json) -> None:
    """Add the example and, except for a DID, the pattern that refuses control characters.

    The router accepts no control character. A malformed DID is refused by a code of its own.
    """
    name = parameter["name"]
    if name not in PATH_EXAMPLES:
        raise MissingExampleError(f"the path parameter {name} has no example: add one to PATH_EXAMPLES")
    parameter.setdefault("example", PATH_EXAMPLES[name])
    if name != "did" and parameter["schema"].get("type") == "string":
        parameter["schema"].setdefault("pattern", NO_CONTROL_CHARACTERS)


def _inline_schemas(name: str, schema: Json) -> Iterator[tuple[str, Json]]:
    """Yield a title and the schema for each enumeration and object without a name below ``schema``."""
    parts = [(f"{name}{_pascal(member)}", part) for member, part in schema.get("properties", {}).items()]
    if isinstance(schema.get("items"), dict):
        parts.append((f"{name}Item", schema["items"]))
    if isinstance(schema.get("additionalProperties"), dict):
        parts.append((f"{name}Value", schema["additionalProperties"]))
    for title, part in parts:
        if "enum" in part or part.get("type") == "object":
            yield title, part
        yield from _inline_schemas(title, part)


def _pascal(name: str) -> str:
    """Return ``If-None-Match`` as ``IfNoneMatch``, ``token_type`` as ``TokenType``."""
    return "".join(word[:1].upper() + word[1:] for word in re.split(r"[^A-Za-z0-9]+", name))
