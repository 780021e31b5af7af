"""The OpenAPI document as the pages read it, and the Markdown that they share."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

METHODS = ("get", "post", "patch", "delete", "put")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation: its path within the server's, its method in capitals, and its member of the document."""

    path: str
    method: str
    body: Mapping[str, Any]

    @property
    def id(self) -> str:
        """The operationId."""
        return str(self.body["operationId"])


@dataclass(frozen=True, slots=True)
class Document:
    """The document, with its references followed on demand."""

    body: Mapping[str, Any]

    def operations(self) -> Iterator[Operation]:
        """All of them, in the order of the document."""
        for path, item in self.body["paths"].items():
            for method in METHODS:
                if method in item:
                    yield Operation(path, method.upper(), item[method])

    def resolved(self, value: Mapping[str, Any]) -> Mapping[str, Any]:
        """``value``, or what its ``$ref`` names."""
        while "$ref" in value:
            found: Any = self.body
            for step in value["$ref"].removeprefix("#/").split("/"):
                found = found[step.replace("~1", "/").replace("~0", "~")]
            value = found
        return value


def load() -> Document:
    """Return the reference document: that of the kernel and of every extension of this repository."""
    return Document(json.loads((Path(__file__).parents[2] / "openapi" / "reference.json").read_bytes()))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table, or nothing where there are no rows."""
    lines = [f"| {' | '.join(cell(one) for one in row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", f"|{'---|' * len(head)}", *lines]) + "\n" if lines else ""


def cell(text: str) -> str:
    """``text`` for one cell of a table: one line, no bar that ends it."""
    return re.sub(r"\s+", " ", text).replace("|", "\\|").strip()


def fenced(language: str, text: str) -> str:
    """A block of code."""
    return f"```{language}\n{text.rstrip()}\n```\n"


def as_json(value: Any) -> str:
    """An example as people read it."""
    return fenced("json", json.dumps(value, indent=2, ensure_ascii=False))


def page(*parts: str) -> str:
    """The parts that say something, with an empty line between them."""
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"
