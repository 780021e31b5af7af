"""The command ``list`` of a noun whose records belong to somebody: one page, asked for in somebody's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from identity_core.cli.asking import asks, wallet_option
from identity_core.cli.output import as_json, show
from identity_core.cli.remote import api_key_option, session, url_option

Option = Callable[[Callable[..., None]], Callable[..., None]]

_limit = click.option("--limit", type=click.IntRange(1, 200), default=50, show_default=True, help="The most items.")
_cursor = click.option("--cursor", help="`nextCursor` of the page before.")


def add_list(group: click.Group, path: str, says: str, *filters: Option, row: str) -> None:
    """Adds the command to ``group``. The parameters of the ``filters`` are named as those of the query; ``row`` is the format of a
    record."""

    def list_them(url: str, api_key: str | None, wallet: Path | None, json_output: bool, **query: Any) -> None:
        with session(url, api_key) as opened:
            answer = asks(opened, wallet)("GET", path, "read", query=query)
        show(answer, json_output=json_output, text=lambda page: _text(page, row))

    options: tuple[Option, ...] = (url_option, api_key_option, wallet_option, *filters, _limit, _cursor, as_json)
    for option in reversed(options):
        list_them = option(list_them)
    group.command(name="list", help=says)(list_them)


def _text(page: dict[str, Any], row: str) -> str:
    lines = [row.format_map(one) for one in page["items"]]
    if page["nextCursor"]:
        lines.append(f"more: --cursor {page['nextCursor']}")
    return "\n".join(lines) or "none"
