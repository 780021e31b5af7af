"""Which line of a TOML file sets which key; ``tomllib`` does not say."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator


def line_numbers(text: str) -> dict[str, int]:
    """Dotted keys to line numbers (from 1) of a text that ``tomllib`` accepts.

    Lines are gathered until ``tomllib`` takes them as one statement: a statement goes on over a line's end only inside
    a string or an array, and half of those never parses. So there is no second TOML grammar here.
    """
    lines: dict[str, int] = {}
    table: tuple[str, ...] = ()
    statement = ""
    start = 1
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if not statement:
            start = number
        statement += line + "\n"
        try:
            parsed = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if statement.lstrip().startswith("["):
            table = max(_paths(parsed), key=len)
            lines.setdefault(".".join(table), start)
        else:
            for path in _paths(parsed):
                lines.setdefault(".".join(table + path), start)
        statement = ""
    return lines


def _paths(value: object) -> Iterator[tuple[str, ...]]:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        value = value[0]
    if not isinstance(value, dict):
        return
    for key, member in value.items():
        yield (key,)
        for path in _paths(member):
            yield (key, *path)
