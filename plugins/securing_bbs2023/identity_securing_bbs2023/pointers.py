"""The parts of a compact JSON-LD document that JSON pointers select (VC Data Integrity ECDSA 1.0 §3.4): the values that
they point to, and of each object on the way its id and type."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from identity_securing_bbs2023.refused import malformed

MAX_POINTERS: Final = 128
MAX_POINTER_CHARACTERS: Final = 1_024
_ESCAPE: Final = re.compile(r"~(?![01])")
_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,5}")


class _Sparse(dict[int, Any]):
    """An array of which a part is selected, by index."""


def select(document: Mapping[str, Any], pointers: Sequence[str]) -> dict[str, Any]:
    """Return a document of the same contexts with what the pointers select; the document itself is not changed. Raises
    ``Malformed`` for a malformed pointer, and one to nothing."""
    if len(pointers) > MAX_POINTERS:
        malformed(f"there are more than {MAX_POINTERS} pointers")
    selected: dict[str, Any] = {"@context": _copied(document["@context"]), **_named(document)}
    for pointer in pointers:
        _select(document, selected, _parts(pointer))
    dense: dict[str, Any] = _dense(selected)
    return dense


def _parts(pointer: str) -> list[str]:
    """Return the reference tokens (RFC 6901 §3, §4)."""
    if len(pointer) > MAX_POINTER_CHARACTERS or (pointer and pointer[0] != "/") or _ESCAPE.search(pointer):
        malformed("a pointer is not a JSON pointer")
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _select(document: Any, selected: Any, parts: Sequence[str]) -> None:
    if not parts:
        selected.update(_copied(document))
        return
    *way, last = parts
    for part in way:
        key, value = _step(document, part)
        if not isinstance(value, dict | list):
            malformed("a pointer points to nothing")
        selected = selected.setdefault(key, _Sparse() if isinstance(value, list) else _named(value))
        document = value
    key, value = _step(document, last)
    selected[key] = _copied(value)


def _step(document: Any, part: str) -> tuple[str | int, Any]:
    if isinstance(document, dict) and part in document:
        return part, document[part]
    if isinstance(document, list) and _INDEX.fullmatch(part) and int(part) < len(document):
        return int(part), document[int(part)]
    return malformed("a pointer points to nothing")


def _named(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of an object that are always selected."""
    kept = {}
    if isinstance(value.get("id"), str) and not value["id"].startswith("_:"):
        kept["id"] = value["id"]
    if "type" in value:
        kept["type"] = _copied(value["type"])
    return kept


def _copied(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _copied(part) for name, part in value.items()}
    return _Sparse(enumerate(map(_copied, value))) if isinstance(value, list) else value


def _dense(value: Any) -> Any:
    if isinstance(value, _Sparse):
        return [_dense(value[index]) for index in sorted(value)]
    return {name: _dense(part) for name, part in value.items()} if isinstance(value, dict) else value
