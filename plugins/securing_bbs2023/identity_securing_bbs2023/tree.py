"""The tree of a graph: verified statements as expanded JSON-LD, built from the statements alone.

The holder of a derived proof writes its JSON again: a member may have another name, and a statement about the credential may stand in any
object that has the credential's id. So nothing of that JSON is read after the proof is verified.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from msgspec import Struct

from identity_securing_bbs2023.refused import malformed

MAX_TREE_DEPTH: Final = 32
MAX_TREE_VALUES: Final = 2_048
"""Values of a tree. A node that several statements name is written at each of them."""

VC_TYPE: Final = "https://www.w3.org/2018/credentials#VerifiableCredential"
_RDF: Final = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_XSD: Final = "http://www.w3.org/2001/XMLSchema#"
_TYPE, _FIRST, _REST, _NIL, _JSON = (f"{_RDF}{name}" for name in ("type", "first", "rest", "nil", "JSON"))
_DIRECTED: Final = "https://www.w3.org/ns/i18n#"
_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]*)")

Quad = Mapping[str, Mapping[str, str]]
Properties = dict[str, list[Mapping[str, str]]]


def tree(quads: Sequence[Quad], root: str | None) -> dict[str, Any]:
    """Return the node ``root`` with all that it leads to, in expanded form.

    ``root`` is an IRI, or None for the one blank node that no statement refers to.
    Raises ``Malformed``: when another credential refers to the root, or when the tree is beyond its limits.
    """
    nodes: dict[str, Properties] = {}
    for quad in quads:
        properties = nodes.setdefault(quad["subject"]["value"], {})
        properties.setdefault(quad["predicate"]["value"], []).append(quad["object"])
    targets = {quad["object"]["value"] for quad in quads if quad["object"]["type"] != "literal"}
    if root is None:
        free = [name for name in nodes if name.startswith("_:") and name not in targets]
        if len(free) != 1:
            malformed("the statements have no single root")
        root = free[0]
    credentials = [name for name, node in nodes.items() if any(one["value"] == VC_TYPE for one in node.get(_TYPE, ()))]
    if root in targets and credentials != [root]:
        # The JSON could begin with either of them.
        malformed("several credentials refer to each other")
    return _Tree(nodes).node(root, ())


class _Tree(Struct):
    nodes: Mapping[str, Properties]
    values: int = 0

    def node(self, name: str, above: tuple[str, ...]) -> dict[str, Any]:
        self._count()
        if len(above) > MAX_TREE_DEPTH:
            malformed(f"its statements are deeper than {MAX_TREE_DEPTH} levels")
        found: dict[str, Any] = {} if name.startswith("_:") else {"@id": name}
        if name in above:
            return found
        for predicate, objects in self.nodes.get(name, {}).items():
            if predicate == _TYPE and any(one["type"] != "IRI" for one in objects):
                malformed("a type is not an IRI")
            if predicate == _TYPE:
                found["@type"] = [one["value"] for one in objects]
            else:
                found[predicate] = [self.value(one, (*above, name)) for one in objects]
        return found

    def value(self, term: Mapping[str, str], above: tuple[str, ...]) -> dict[str, Any]:
        if term["type"] == "literal":
            self._count()
            return _literal(term)
        name = term["value"]
        if name == _NIL or (name.startswith("_:") and self.nodes.get(name, {}).keys() == {_FIRST, _REST}):
            return {"@list": self._list(name, above)}
        return self.node(name, above)

    def _list(self, name: str, above: tuple[str, ...]) -> list[Any]:
        found = []
        while name != _NIL:
            properties = self.nodes.get(name, {})
            first, rest = properties.get(_FIRST, ()), properties.get(_REST, ())
            if len(first) != 1 or len(rest) != 1:
                malformed("a list is ill-formed")
            # A list that leads to itself ends here.
            self._count()
            found.append(self.value(first[0], above))
            name = rest[0]["value"]
        return found

    def _count(self) -> None:
        self.values += 1
        if self.values > MAX_TREE_VALUES:
            malformed(f"its statements make a tree of more than {MAX_TREE_VALUES} values")


def _literal(term: Mapping[str, str]) -> dict[str, Any]:
    """Return a literal as a value object; numbers and truth values as those of JSON (JSON-LD 1.1 API, "RDF to Object Conversion")."""
    text, kind = term["value"], term.get("datatype") or f"{_XSD}string"
    if "language" in term:
        return {"@value": text, "@language": term["language"]}
    if kind.startswith(_DIRECTED):
        language, _, direction = kind.removeprefix(_DIRECTED).partition("_")
        return {"@value": text, **({"@language": language} if language else {}), "@direction": direction}
    if kind == f"{_XSD}string":
        return {"@value": text}
    if kind == f"{_XSD}boolean" and text in ("true", "false"):
        return {"@value": text == "true"}
    if kind == f"{_XSD}integer" and _INTEGER.fullmatch(text) and len(text) <= 16:
        return {"@value": int(text)}
    if kind == f"{_XSD}double" and (number := _double(text)) is not None:
        return {"@value": number}
    if kind == _JSON:
        return {"@value": json.loads(text), "@type": "@json"}
    return {"@value": text, "@type": kind}


def _double(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
