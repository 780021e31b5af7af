"""The cases of the kit of securing formats: malformed input, a binding that does not exist, and every change of a credential."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Final

from identity_core.ports.securing import KeyBinding, Secured

JUNK: Final[tuple[Any, ...]] = (
    "",
    "~",
    ".",
    "a" * 100_000,
    "\x00",
    "..~~",
    "eyJhbGciOiJub25lIn0.e30.~",
    "Ａ.Ｂ.Ｃ",
    {},
    {"proof": None},
    {"proof": []},
    {"proof": {"type": "DataIntegrityProof"}},
    {"issuer": 7, "proof": {"proofValue": "u"}},
    {"@context": [{}], "proof": {"type": "DataIntegrityProof", "proofValue": "u2V0D"}},
)
"""Texts and objects that are not secured credentials of any format."""

WANTED: Final = KeyBinding("did:web:verifier.example", "a-nonce", datetime(2026, 1, 1, tzinfo=UTC))
_BASE64URL: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
_MOST_CHANGES: Final = 48


def changes(secured: Secured) -> Iterator[tuple[str, Secured]]:
    """Yield the credential with one thing changed, each time another: a bit of a text that no encoding ignores, or a member of an
    object."""
    if isinstance(secured, str):
        step = max(1, len(secured) // _MOST_CHANGES)
        for place in range(0, len(secured), step):
            if secured[place] in _BASE64URL:
                yield str(place), secured[:place] + _other_letter(secured[place]) + secured[place + 1 :]
        return
    for path in _leaves(secured, ()):
        changed = json.loads(json.dumps(secured))
        within = changed
        for part in path[:-1]:
            within = within[part]
        within[path[-1]] = _other_value(within[path[-1]])
        yield "/".join(map(str, path)), changed
    yield "a new member", {**secured, "aMemberThatNobodySigned": "x"}


def _leaves(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, Mapping):
        for name, part in value.items():
            yield from _leaves(part, (*path, name))
    elif isinstance(value, list):
        for place, part in enumerate(value):
            yield from _leaves(part, (*path, place))
    else:
        yield path


def _other_value(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if not isinstance(value, str) or not value:
        return "changed"
    middle = len(value) // 2
    return value[:middle] + _other_letter(value[middle]) + value[middle + 1 :]


def _other_letter(letter: str) -> str:
    place = _BASE64URL.find(letter)
    return "x" if place < 0 else _BASE64URL[place ^ 32]


def escaped(name: str) -> str:
    """Return a name as a part of a JSON pointer (RFC 6901 §3)."""
    return name.replace("~", "~0").replace("/", "~1")


def value_at(value: Any, pointer: str) -> Any:
    """Return the value at a JSON pointer; None if a member is missing."""
    for part in pointer.split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        value = value[int(name)] if isinstance(value, list) else value.get(name)
    return value
