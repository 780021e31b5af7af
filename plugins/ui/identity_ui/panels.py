"""Panels of plugins on an operator's page: text alone, each behind the border, so that one that fails costs its own place on the page."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from msgspec import Struct

from identity_core.errors import IdentityError
from identity_core.ports.panel import MOST_CHARACTERS, MOST_COLUMNS, MOST_ROWS, OperatorPanel


class ShownPanel(Struct, frozen=True):
    """A panel as a page shows it. ``refusal`` is why it shows nothing, ``cut`` whether there was more than a page shows."""

    title: str
    text: str = ""
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    cut: bool = False
    refusal: IdentityError | None = None


async def shown_panels(panels: Mapping[str, OperatorPanel]) -> list[ShownPanel]:
    """Return all of them, asked at the same time, by their names."""
    return list(await asyncio.gather(*(_read_panel(name, panel) for name, panel in sorted(panels.items()))))


async def _read_panel(name: str, panel: OperatorPanel) -> ShownPanel:
    try:
        title, table = panel.title, await panel.table()
    except IdentityError as error:
        # The border has logged and counted it.
        return ShownPanel(name, refusal=error)
    width = min(len(table.columns), MOST_COLUMNS)
    rows = [[_short(cell) for cell in row[:width]] for row in table.rows[:MOST_ROWS]]
    return ShownPanel(
        _short(title) or name,
        _short(table.text),
        [_short(one) for one in table.columns[:width]],
        [row + [""] * (width - len(row)) for row in rows],
        cut=len(table.rows) > MOST_ROWS or len(table.columns) > MOST_COLUMNS,
    )


def _short(text: str) -> str:
    # A str of str's own: one of a subclass could call itself markup, and a lone surrogate could not be sent.
    plain = str.encode(text, "utf-8", "replace").decode()
    return plain if len(plain) <= MOST_CHARACTERS else f"{plain[:MOST_CHARACTERS]}…"
