"""What the document promises, for tags, steps and the test that counts scenarios."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from typing import Any

from openapi.clients import DOCUMENT

METHODS = ("get", "post", "put", "patch", "delete")


@dataclass(frozen=True)
class Operation:
    """One operation: ``refusals`` maps a status to its codes, ``statuses`` are those that are not a refusal."""

    operation_id: str
    tag: str
    method: str
    path: str
    refusals: dict[int, tuple[str, ...]]
    statuses: tuple[int, ...]
    schemes: tuple[str, ...]
    has_body: bool
    parameters: tuple[str, ...]

    @property
    def module(self) -> str:
        """The module of the generated client."""
        snake = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", self.operation_id).lower()
        return f"api.{self.tag}.{snake}"


@cache
def document() -> dict[str, Any]:
    """The bundled document."""
    value: dict[str, Any] = json.loads(DOCUMENT.read_text())
    return value


def resolved(part: Any) -> Any:
    """``part``, or what its ``$ref`` names."""
    while isinstance(part, dict) and "$ref" in part:
        target: Any = document()
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part


@cache
def operations() -> tuple[Operation, ...]:
    """Every operation of the document."""
    found = []
    for path, item in document()["paths"].items():
        for method in METHODS:
            if method in item:
                found.append(_operation(path, method, item[method]))
    return tuple(found)


def _operation(path: str, method: str, declared: dict[str, Any]) -> Operation:
    refusals: dict[int, tuple[str, ...]] = {}
    statuses = []
    for status, response in declared["responses"].items():
        codes = tuple(resolved(response).get("x-error-codes", ()))
        if codes:
            refusals[int(status)] = codes
        else:
            statuses.append(int(status))
    schemes = [name for alternative in declared.get("security", []) for name in alternative]
    parameters = [resolved(parameter)["name"] for parameter in declared.get("parameters", [])]
    return Operation(
        declared["operationId"],
        declared["tags"][0],
        method.upper(),
        path,
        refusals,
        tuple(statuses),
        tuple(schemes),
        "requestBody" in declared,
        tuple(parameters),
    )


def operation(operation_id: str) -> Operation:
    """The operation of this name."""
    return next(one for one in operations() if one.operation_id == operation_id)
