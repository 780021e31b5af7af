"""The served document: that of the kernel, and the parts of the extensions.

A part has the members ``tags``, ``paths``, ``components`` and ``x-error-catalogue``, with entries that the kernel's
document lacks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from identity_core.settings import StartError

METHODS: Final = ("get", "put", "post", "delete", "options", "head", "patch", "trace")
CATALOGUE: Final = "x-error-catalogue"

Json = Mapping[str, Any]


class CompositionError(StartError):
    """Two parts do not fit; the message is one line that names both."""


def compose(kernel: Json, parts: Mapping[str, Json]) -> dict[str, Any]:
    """Return the document of ``kernel`` and ``parts``, which are added in the order of their names.

    Raises ``CompositionError``: when a name occurs twice with different content, or an operationId, a path with its method, or an alias
    occurs twice.
    """
    document = {**kernel, "tags": [*kernel.get("tags", ())], "paths": dict(kernel["paths"])}
    document["components"] = {kind: dict(members) for kind, members in kernel.get("components", {}).items()}
    document[CATALOGUE] = dict(kernel.get(CATALOGUE, {}))
    owners: dict[Any, str] = {}
    _own(owners, kernel, "the kernel")
    for name in sorted(parts):
        part = parts[name]
        known = {tag["name"] for tag in document["tags"]}
        document["tags"] += [tag for tag in part.get("tags", ()) if tag["name"] not in known]
        _own(owners, part, name)
        for path, item in part["paths"].items():
            document["paths"][path] = {**document["paths"].get(path, {}), **item}
        for kind, members in part.get("components", {}).items():
            _join(document["components"].setdefault(kind, {}), members, f"{kind} of {name}")
        _join(document[CATALOGUE], part.get(CATALOGUE, {}), f"error codes of {name}")
    return document


def operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    """Yield path template, lower-case method and operation object of every operation."""
    for path, item in document["paths"].items():
        for method in METHODS:
            if method in item:
                yield path, method, item[method]


def _own(owners: dict[Any, str], part: Json, name: str) -> None:
    """Record the operations, paths and aliases of a part in ``owners``. Raises ``CompositionError``: when another
    operation has one of them."""
    for path, method, operation in operations(part):
        places = [(method, place) for place in (path, *operation.get("x-aliases", ()))]
        owner = f"{operation.get('operationId')} of {name}"
        for claimed in (operation.get("operationId"), *places):
            other = owners.setdefault(claimed, owner)
            if other != owner:
                raise CompositionError(f"{owner} and {other} have the same name, path or alias")


def _join(whole: dict[str, Any], part: Json, what: str) -> None:
    for name, member in part.items():
        if whole.setdefault(name, member) != member:
            raise CompositionError(f"{name}: the {what} differ from those of another part")
