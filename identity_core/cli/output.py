"""What commands print: text for people, JSON for programs, and errors in three lines: what, where, what to do."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NoReturn

import click
import orjson

from identity_core.settings import SettingsError, StartError

as_json = click.option("--json", "json_output", is_flag=True, help="Print JSON.")


def show(value: Any, *, json_output: bool, text: Callable[[Any], str] | None = None) -> None:
    """Prints ``value`` as JSON, or as ``text`` renders it."""
    if json_output or text is None:
        click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2, default=str).decode())
    else:
        click.echo(text(value))


def fail(what: str, where: str, remedy: str, *, status: int = 1) -> NoReturn:
    """Ends the command with the three lines on stderr. Whatever the parts hold, they are one line each."""
    lines = (f"error: {_flat(what)}", f"  at: {_flat(where)}", f"  do: {_flat(remedy)}")
    click.echo("\n".join(lines), err=True)
    sys.exit(status)


def fail_start(
    error: StartError, where: str, remedy: str = "put it right and start again", *, status: int = 1
) -> NoReturn:
    """Ends the command for what keeps an installation from starting; most of it knows its place and remedy itself."""
    if isinstance(error, SettingsError):
        status = 2
    fail(error.what, error.where or where, error.fix or remedy, status=status)


def _flat(text: str) -> str:
    """``text`` on one line, and without characters that a terminal would obey."""
    shown = " ".join(text.split())
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode() for one in shown)
