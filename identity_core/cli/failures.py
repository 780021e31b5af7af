"""The end of a command that fails: three lines, or one JSON object, for whatever comes out of it, and never a traceback.

With ``IDENTITY_LOG_LEVEL=debug`` an unexpected exception shows its traceback as well.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import click

from identity_core.cli.output import JSON_ERRORS, fail, fail_start, shown
from identity_core.files import install_command

INTERRUPTED = 130
_OF_REMEDIES: Final = ("remedy", "remedies", "supported")
# Called without a command, a group shows its help; click has a class for that since 8.2.
_NO_ARGUMENTS: tuple[type[Exception], ...] = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))


@contextlib.contextmanager
def reported(words: Sequence[str] = ()) -> Iterator[None]:
    """Ends the program with three lines for whatever comes out of it; as JSON where ``words``, those of the command line, say so."""
    # Read here: a command line that is wrong is told before any option is parsed.
    options = words[: words.index("--")] if "--" in words else words
    asked = JSON_ERRORS.set("--json" in options)
    try:
        _require_streams()
        yield
    except click.ClickException as error:
        _misused(error)
    except click.Abort:
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001  (the edge)
        _failed(error)
    finally:
        JSON_ERRORS.reset(asked)


def _require_streams() -> None:
    """Put /dev/null in place of a closed standard input or error, so that no file gets its descriptor; end the program where nothing that
    it prints would arrive."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  (until the program ends)
    if sys.stdout is None:
        fail("standard output is closed", "standard output", "redirect it to a file, or to /dev/null", status=2)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _failed(error: Exception) -> NoReturn:
    # Imported here, because help has no use for them.
    from identity_core.database import DatabaseError
    from identity_core.errors import IdentityError
    from identity_core.settings import StartError

    match error:
        case StartError():
            fail_start(error, "start-up")
        case DatabaseError():
            fail(f"the database cannot be used: {error.reason}", "the database", "see `identity doctor`")
        case IdentityError():
            fail(f"{error.code}: {error}", refused_values(error.details) or "the options", error.find_remedy())
        case UnicodeEncodeError(reason="surrogates not allowed"):
            fail("an argument, or a text that was read, is not UTF-8", "the options", "write it in UTF-8", status=2)
        case OSError():
            where = str(error.filename) if error.filename else "the operating system"
            fail(error.strerror or str(error), where, "check that the place exists and that you may use it")
    _unexpected(error)


def _misused(error: click.ClickException) -> NoReturn:
    if isinstance(error, _NO_ARGUMENTS):
        error.show()
        raise SystemExit(2)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "identity"
    what, then = error.format_message(), f"see `{command} --help`"
    if what.startswith("No such command"):
        then += f"; commands of extensions are installed with `{install_command('identity-service')}`"
    fail(what, command, then, status=2)


def _unexpected(error: Exception) -> NoReturn:
    if os.environ.get("IDENTITY_LOG_LEVEL") == "debug":
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}:{frame.lineno} {frame.name}"
    fail(f"unexpected {type(error).__name__}: {error}", where, "report this; IDENTITY_LOG_LEVEL=debug shows more")


def refused_values(details: Mapping[str, Any]) -> str:
    """Return what was refused, name by name, without what the remedy repeats and what the service hides."""
    values = {name: value for name, value in details.items() if name not in _OF_REMEDIES and value != "(not shown)"}
    return "; ".join(f"{name}: {_listed(value)}" for name, value in values.items())


def _listed(value: Any) -> str:
    parts = [*value.values()] if isinstance(value, dict) else value
    return ", ".join(map(_listed, parts)) if isinstance(parts, list) else shown(parts)
