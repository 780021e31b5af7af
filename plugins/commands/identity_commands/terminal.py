"""Output for terminals only: tables with headers, and the progress of a command that takes over a second.

Pipes, files, ``NO_COLOR`` (no-color.org) and ``TERM=dumb`` get plain text.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Self

import click

from identity_core.cli.output import Text, escaped_line, prints_json, show
from identity_core.cli.terminal import STYLE_OF, is_terminal

DELAY_SECONDS = 1.0
_IDS_ALONE: Final = "identity.ids_alone"
_IDS: Final = ("apiKey", "id", "sequence", "did", "proofId", "challenge", "profile", "name", "versionId")
ids_option = click.option(
    "-q",
    "--quiet",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, value: context.meta.update({_IDS_ALONE: value}),
    help="Print the id alone, one per line.",
)
"""For commands that create or list records. A new API key is printed itself, because it is shown once."""
_CLEARED: Final = "\r\x1b[2K"


def show_table(value: Any, text: Text | None = None, *, columns: Mapping[str, Text] | None = None) -> None:
    """Print ``value`` as ``show`` does. On a terminal the records of a list, or of a page, are a table with these ``columns``."""
    if click.get_current_context().meta.get(_IDS_ALONE) and not prints_json():
        click.echo("".join(f"{escaped_line(one)}\n" for one in _ids(value)), nl=False)
    elif columns is None or not shows_tables() or not _as_table(value, columns):
        show(value, text)


def shows_tables() -> bool:
    """Return whether the output is for a terminal, where lists are tables."""
    return is_terminal(sys.stdout) and not prints_json()


def _ids(value: Any) -> list[str]:
    """Return the first member of ``_IDS`` of each record."""
    records = value if isinstance(value, list) else value.get("items", [value])
    return [str(next(one[name] for name in _IDS if name in one)) for one in records]


def _as_table(value: Any, columns: Mapping[str, Text]) -> bool:
    """Print the records of ``value`` under their columns. Return False if there are none."""
    records = value["items"] if isinstance(value, dict) else value
    if not records:
        return False
    lines = table_lines(columns, on_one_line(records), escaped_line, in_colour=True)
    click.echo("\n".join(lines), color=True)
    cursor = value.get("nextCursor") if isinstance(value, dict) else None
    if cursor:
        click.echo(f"more: --cursor {escaped_line(str(cursor))}")
    return True


def on_one_line(value: Any) -> Any:
    """Return ``value`` with every text in it on one line, so that text from another party cannot look like a line of
    its own."""
    match value:
        case str():
            return value.replace("\n", "\\n")
        case list():
            return list(map(on_one_line, value))
        case dict():
            return {name: on_one_line(member) for name, member in value.items()}
    return value


def agreed(yes: bool, question: str) -> bool:
    """Return whether the user agrees, by the option ``yes`` or in an answer. With JSON output there is no question."""
    return yes or (not prints_json() and click.confirm(question, err=True))


def progress(items: Collection[Any], label: str) -> Progress:
    """Return the progress over ``items``: iterate over it, or call ``update``."""
    return Progress(label, items)


def working(label: str) -> Progress:
    """Return the progress of work without steps."""
    return Progress(label)


def table_lines(
    columns: Mapping[str, Text], records: Sequence[Any], escape: Callable[[str], str], *, in_colour: bool
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
