"""Colours, for terminals only.

Pipes, files, ``NO_COLOR`` (no-color.org) and ``TERM=dumb`` get plain text.
"""

from __future__ import annotations

import os
from typing import IO, Final

import click

_STYLES: Final = {
    "green": "active ok verified done success allowed yes",
    "yellow": "warn not suspended scheduled pending exhausted expired",
    "red": "fail failed revoked refused deactivated denied error",
}
STYLE_OF: Final = {word: style for style, words in _STYLES.items() for word in words.split()}


def is_terminal(file: IO[str]) -> bool:
    """Return whether ``file`` is a terminal for which colours are allowed."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return not plain and file.isatty()


def painted(text: str, file: IO[str], *, style: str = "") -> str:
    """Return ``text`` in a colour if ``file`` is a terminal: in ``style``, or in the colour of its first word."""
    if not is_terminal(file):
        return text
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    colour = style or STYLE_OF.get(word.rstrip(":"))
    if colour is None:
        return text
    at = text.index(word) + len(word)
    return click.style(text[:at], fg=colour, bold=True) + text[at:]
