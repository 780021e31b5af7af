"""The edge of the command line: whatever a command lets through ends in three lines and an exit code, never in a
traceback.

Codes: 1 what was asked could not be done, 2 it was asked wrongly (options, settings), 130 Ctrl-C. With
``IDENTITY_LOG_LEVEL=debug`` an exception that nobody expected shows its traceback too.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Iterator
from typing import NoReturn

import click

from identity_core.cli.output import fail, fail_start
from identity_core.database import DatabaseError
from identity_core.domain.errors import IdentityError
from identity_core.settings import StartError

INTERRUPTED = 130
# Called without a command, a group shows its help; click has a class for that since 8.2.
_NO_ARGUMENTS: tuple[type[Exception], ...] = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))


@contextlib.contextmanager
def told() -> Iterator[None]:
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
        fail(f"the database cannot be used: {error}", "the database", "see `identity doctor`")
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
