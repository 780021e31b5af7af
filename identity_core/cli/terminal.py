"""What only a terminal is shown: tables with headers, colours, and how far a command is that takes over a second.

Pipes, files, ``NO_COLOR`` (no-color.org) and ``TERM=dumb`` get the plain text, and nothing of `rich` is imported for them; nor is it for a
command that is done within a second and prints no table.
"""

from __future__ import annotations

import contextlib
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import click
import orjson

if TYPE_CHECKING:
    from rich.progress import Progress

    from identity_codec.strict_json import JsonValue

Cell = str | Callable[[Any], str]
"""A column's text for one record: a format string over its members, or a function."""

DELAY_SECONDS = 1.0
_STYLES: Final = {
    "green": "active ok verified done success allowed yes",
    "yellow": "warn suspended scheduled pending exhausted expired",
    "red": "fail failed revoked refused deactivated denied error",
}
STYLE_OF: Final = {word: style for style, words in _STYLES.items() for word in words.split()}
# Wider than any row, so that an identifier stays in one piece and can be copied.
_WIDTH: Final = 100_000


def is_terminal(file: IO[str]) -> bool:
    """Whether ``file`` is a terminal whose user wants more than plain text."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") in ("dumb", "unknown")
    return not plain and file.isatty()


def painted(text: str, file: IO[str], *, style: str = "") -> str:
    """``text`` in a colour where ``file`` is a terminal: in ``style``, or as its first word says."""
    if not is_terminal(file):
        return text
    word = text.split(maxsplit=1)[0] if text.strip() else ""
    colour = style or STYLE_OF.get(word.rstrip(":"))
    if colour is None:
        return text
    at = text.index(word) + len(word)
    return click.style(text[:at], fg=colour, bold=True) + text[at:]


def write_table(columns: Mapping[str, Cell], records: Sequence[Any], escape: Callable[[str], str]) -> None:
    """Prints a row for each record under the names of the columns; cells are shown as ``escape`` gives them."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(*columns, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for record in records:
        cells = [
            escape(cell.format_map(record) if isinstance(cell, str) else cell(record)) for cell in columns.values()
        ]
        table.add_row(*(Text(cell, style=STYLE_OF.get(cell, ""), no_wrap=True) for cell in cells))
    console = Console(
        file=sys.stdout, width=_WIDTH, force_terminal=True, color_system="standard", highlight=False, markup=False
    )
    with console.capture() as drawn:
        console.print(table)
    click.echo("\n".join(line.rstrip() for line in drawn.get().splitlines()), color=True)


class Bar:
    """How far something is, of a ``total`` that is None or 0 if unknown. Shown on stderr after ``DELAY_SECONDS``, gone at the end."""

    def __init__(self, label: str, total: int | None) -> None:
        self._label, self._total, self._done = label, total or None, 0
        self._lock, self._ended = threading.Lock(), False
        self._shown: Progress | None = None
        self._timer = threading.Timer(DELAY_SECONDS, self._show)
        self._timer.daemon = True

    def _show(self) -> None:
        from rich import progress
        from rich.console import Console

        parts: list[progress.ProgressColumn] = [progress.SpinnerColumn(), progress.TextColumn("{task.description}")]
        if self._total is not None:
            parts += [progress.BarColumn(), progress.TaskProgressColumn(), progress.TimeRemainingColumn()]
        with self._lock:
            if self._ended:
                return
            console = Console(file=sys.stderr, force_terminal=True, color_system="standard")
            self._shown = progress.Progress(*parts, progress.TimeElapsedColumn(), console=console, transient=True)
            self._shown.add_task(self._label, total=self._total, completed=self._done)
            self._shown.start()

    def update(self, steps: int) -> None:
        """So much more is done."""
        with self._lock:
            self._done += steps
            if self._shown is not None:
                self._shown.update(self._shown.task_ids[0], completed=self._done)

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While this lasts, the bar is shown."""
        self._timer.start()
        try:
            yield
        finally:
            self._timer.cancel()
            with self._lock:
                self._ended = True
                if self._shown is not None:
                    self._shown.stop()


def shown(value: JsonValue) -> str:
    """Return a JSON value as people read it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
