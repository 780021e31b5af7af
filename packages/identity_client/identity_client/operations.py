"""The facts of each operation that a client needs at run time. ``operations.json`` is generated from the reference document."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources

import orjson
from msgspec import Struct


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
