"""What commands print: text for people, JSON for programs, and errors in three lines: what, where, what to do.

Exit codes: 1 what was asked could not be done, 2 it was asked wrongly (options, settings), 130 Ctrl-C. Whatever a command lets
through ends in the three lines too, never in a traceback; with ``IDENTITY_LOG_LEVEL=debug`` an unexpected exception shows its
traceback as well.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterator
from typing import Any, NoReturn

import click
import orjson

from identity_core.database import DatabaseError
from identity_core.errors import IdentityError
from identity_core.settings import SettingsError, StartError

INTERRUPTED = 130
# Called without a command, a group shows its help; click has a class for that since 8.2.
_NO_ARGUMENTS: tuple[type[Exception], ...] = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))

_JSON = "identity.json"
as_json = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, value: context.meta.update({_JSON: value}),
    help="Print JSON.",
)


def prints_json() -> bool:
    """Whether the command was asked for JSON (``as_json``)."""
    return bool(click.get_current_context().meta.get(_JSON))


def show(value: Any, text: Callable[[Any], str] | None = None) -> None:
    """Prints ``value`` as ``text`` renders it; as JSON where that was asked for, or where there is no ``text``."""
    if text is None or prints_json():
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


@contextlib.contextmanager
def reported() -> Iterator[None]:
    """Ends the program with three lines for whatever comes out of it."""
    try:
        yield
    except click.ClickException as error:
        _misused(error)
    except click.Abort:
        raise SystemExit(INTERRUPTED) from None
    except StartError as error:
        fail_start(error, "start-up")
    except DatabaseError as error:
        fail(f"the database cannot be used: {error.reason}", "the database", "see `identity doctor`")
    except IdentityError as error:
        fail(f"{error.code}: {error}", str(dict(error.details)) if error.details else "the request", "see the code")
    except OSError as error:
        where = str(error.filename) if error.filename else "the operating system"
        fail(error.strerror or str(error), where, "check that the place exists and that you may use it")
    except Exception as error:  # noqa: BLE001  (the edge)
        _unexpected(error)


def _misused(error: click.ClickException) -> NoReturn:
    if isinstance(error, _NO_ARGUMENTS):
        error.show()
        raise SystemExit(2)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "identity"
    fail(error.format_message(), command, f"see `{command} --help`", status=2)


def _unexpected(error: Exception) -> NoReturn:
    if os.environ.get("IDENTITY_LOG_LEVEL") == "debug":
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    fail(
        f"unexpected {type(error).__name__}: {error}",
        f"{frame.filename}:{frame.lineno} {frame.name}",
        "report this; IDENTITY_LOG_LEVEL=debug shows more",
    )


class _Silent:
    """Progress that nobody watches: a log file or another program would only get noise."""

    def __init__(self, items: Collection[Any]) -> None:
        self._items = items

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def update(self, count: int) -> None:
        """See ``click.progressbar``."""


@contextlib.contextmanager
def progress(items: Collection[Any], label: str) -> Iterator[Any]:
    """A bar on stderr where that is a terminal: iterate over it, or call ``update``."""
    if not sys.stderr.isatty():
        yield _Silent(items)
        return
    bar: Any = click.progressbar
    with bar(items, label=label, file=sys.stderr) as shown:
        yield shown
