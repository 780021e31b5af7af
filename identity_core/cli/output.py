"""What commands print: text for people, JSON for programs, and errors in three lines: what, where, what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click
import orjson

as_json = click.option("--json", "json_output", is_flag=True, help="Print JSON.")


def show(value: Any, *, json_output: bool, text: Callable[[Any], str] | None = None) -> None:
    """Prints ``value`` as JSON, or as ``text`` renders it."""
    if json_output or text is None:
        click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2).decode())
    else:
        click.echo(text(value))


def fail(what: str, where: str, remedy: str, *, status: int = 1) -> NoReturn:
    """Ends the command with the three lines on stderr."""
    click.echo(f"error: {what}\n  at: {where}\n  do: {remedy}", err=True)
    sys.exit(status)
