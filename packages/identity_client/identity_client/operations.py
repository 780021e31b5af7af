"""The facts of each operation that a client needs at run time. ``operations.json`` is generated from the reference document."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any
from urllib.parse import quote

import orjson
from msgspec import Struct

from identity_codec.structs import python_name


class ServedOperation(Struct, frozen=True):
    """The place of an operation, the places of its parameters, the media types of its answers (``forms``, the usual one
    first), whether it takes an Idempotency-Key (``idempotent``) and an API key or token (``keyed``); ``scheme`` and
    ``purpose`` of a signature, None where it takes none; the ``summary`` of the document."""

    method: str
    path: str
    query: Sequence[str]
    headers: Sequence[str]
    forms: Sequence[str]
    idempotent: bool
    keyed: bool
    scheme: str | None
    purpose: str | None
    summary: str = ""

    @property
    def accept(self) -> str:
        """Return the accepted media types, also where only an error has a body."""
        return next(iter(self.forms), "application/json")

    @property
    def is_repeatable(self) -> bool:
        """Return whether it may be sent again without another effect: it changes nothing, or is the same change under one
        Idempotency-Key."""
        return self.method == "GET" or self.idempotent


@functools.cache
def served_operations() -> Mapping[str, ServedOperation]:
    """Return the operations of the service of this version and of all extensions of its repository, by operationId."""
    table = orjson.loads(resources.files("identity_client").joinpath("operations.json").read_bytes())
    return {name: ServedOperation(**each) for name, each in table.items()}


def place_of(operation: ServedOperation, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Return the path below the prefix, and the parameters of the query."""
    path = re.sub(r"\{(\w+)\}", lambda match: quote(str(values[match[1]]), safe=""), operation.path)
    return path, {name: values[name] for name in operation.query if name in values}


def by_place(operation: ServedOperation, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are given, by their names on the wire."""
    names = (*re.findall(r"\{(\w+)\}", operation.path), *operation.query, *operation.headers)
    known = {python_name(name.replace("-", "_")): name for name in names}
    if unknown := parameters.keys() - known.keys():
        raise TypeError(f"{operation.path} has no parameter {', '.join(sorted(unknown))}")
    values = {known[name]: value for name, value in parameters.items() if value is not None}
    if missing := set(re.findall(r"\{(\w+)\}", operation.path)) - values.keys():
        raise TypeError(f"{operation.path} needs {', '.join(sorted(missing))}")
    # As JSON has them, which is how the document writes them.
    return {name: str(value).lower() if isinstance(value, bool) else value for name, value in values.items()}
