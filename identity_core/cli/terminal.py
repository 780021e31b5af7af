"""Output for terminals only: tables with headers, colours, and the progress of a command that takes over a second.

Pipes, files, ``NO_COLOR`` (no-color.org) and ``TERM=dumb`` get plain text.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import IO, Any, Final, Self

import click

Cell = str | Callable[[Any], str]
"""A column's text for one record: a format string over its members, or a function."""

DELAY_SECONDS = 1.0
_CLEARED: Final = "\r\x1b[2K"
_STYLES: Final = {
    "green": "active ok verified done success allowed yes",
    "yellow": "warn suspended scheduled pending exhausted expired",
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


def table_lines(
    columns: Mapping[str, Cell], records: Sequence[Any], escape: Callable[[str], str], *, in_colour: bool
) -> list[str]:
    """Return a row for each record under the names of the columns, as wide as the widest cell; ``escape`` is applied to cells."""
    rows = [
        [escape(cell.format_map(record) if isinstance(cell, str) else cell(record)) for cell in columns.values()]
        for record in records
    ]
    widths = [max(map(_cells, column)) for column in zip(columns, *rows, strict=True)]

    def line(cells: Collection[str], **style: Any) -> str:
        styles = [style or {"fg": STYLE_OF.get(cell)} if in_colour else {} for cell in cells]
        shown = [click.style(cell, **one) if one else cell for cell, one in zip(cells, styles, strict=True)]
        gaps = [" " * (width - _cells(cell)) for cell, width in zip(cells, widths, strict=True)]
        return "  ".join(map(str.__add__, shown, gaps)).rstrip()

    return [line(columns, bold=True), *map(line, rows)]


def _cells(text: str) -> int:
    """Return the number of terminal cells that ``text`` takes."""
    if text.isascii():
        return len(text)
    from unicodedata import combining, east_asian_width

    return sum(2 if east_asian_width(one) in "WF" else not combining(one) for one in text)


class Progress:
    """A line on stderr from ``DELAY_SECONDS`` until the end, with the finished share of ``items`` if there are any.

    Iterate over it, or call ``update``. Nothing else may be printed or prompted meanwhile.
    """

    def __init__(self, label: str, items: Collection[Any] = ()) -> None:
        self._label, self._items, self._done, self._shown = label, items, 0, ""
        self._timer = threading.Timer(DELAY_SECONDS, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        # In a log file, or for another program, it would only be noise.
        if is_terminal(sys.stderr):
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
        if self._timer.ident is not None:
            self._timer.join()
        if self._shown:
            click.echo(_CLEARED, nl=False, err=True, color=True)

    def __iter__(self) -> Iterator[Any]:
        for item in self._items:
            yield item
            self.update(1)

    def update(self, steps: int) -> None:
        """Count ``steps`` more as done."""
        self._done += steps
        if self._shown:
            self._show()

    def _show(self) -> None:
        text = f"{self._label} {100 * self._done // len(self._items)}%" if self._items else self._label
        if text != self._shown:
            click.echo(f"{_CLEARED}{text}", nl=False, err=True, color=True)
            self._shown = text
