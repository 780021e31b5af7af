"""Output of commands: text for people, JSON for programs, and errors in three lines (what, where, what to do) or as one JSON object.

Exit codes: ``EXIT_CODES`` of ``cli``, which `identity --help` shows. With ``IDENTITY_LOG_LEVEL=debug`` an unexpected exception shows its
traceback as well.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import click

from identity_core.cli.terminal import painted
from identity_core.files import install_command, open_regular

if TYPE_CHECKING:
    from identity_codec.strict_json import JsonValue
    from identity_core.settings import StartError

Text = str | Callable[[Any], str]
"""The form of a value for people: a format string over its members, or a function."""

_STYLES = {"error:": "red", "  at: ": "cyan", "  do: ": "green"}
_JSON = "identity.json"
HELP = "identity.help"
MOST_HELP = 65_536
JSON_ERRORS: ContextVar[bool] = ContextVar("identity.json_errors", default=False)
as_json = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=lambda context, _, value: context.meta.update({_JSON: value}),
    help="Print JSON.",
)


class Command(click.Command):
    """A command of the core. Each can print JSON, and its help has examples of calls."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        as_json(self)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write below the options whether the command calls a service, and the examples of ``help.txt``."""
        super().format_epilog(ctx, formatter)
        named = {one.name: one for one in self.params}
        url = named.get("url")
        is_remote = url is not None and (url.required or url.envvar == "IDENTITY_URL") and "data_dir" not in named
        local = "Local command." if url is None else f"Local command; {url.opts[0]} names a service."
        formatter.write("\n  Remote command: it calls a service.\n" if is_remote else f"\n  {local}\n")
        if calls := examples_of(tuple(ctx.command_path.split()[1:])):
            with formatter.section("Examples"):
                # Not wrapped, so that a line can be copied.
                formatter.write("".join(f"  {line}\n" for call in calls for line in call.splitlines()))


def examples_of(words: tuple[str, ...]) -> list[str]:
    """Return the lines that call the command at ``words``, such as ``("did", "create")``. A line may continue after a
    backslash."""
    from importlib.metadata import entry_points

    begins = ("identity", *words)
    texts = help_texts({one.value for one in entry_points(group=HELP)})
    calls = (call for text in texts for call in re.findall(r"^identity .*(?:\n +.*)*", text, re.MULTILINE))
    return [call for call in calls if tuple(call.split()[: len(begins)]) == begins]


def help_texts(packages: set[str]) -> list[str]:
    """Return the first bytes of ``help.txt`` of each of these packages, escaped. None of them is imported."""
    from importlib.util import find_spec

    texts = []
    for package in sorted(packages):
        # The border of plugins: without its text, a command is still listed.
        with contextlib.suppress(Exception):
            # The search for a module within a package would import the package.
            top, *within = package.split(".")
            place = Path(find_spec(top).origin).parent.joinpath(*within, "help.txt")  # type: ignore[union-attr, arg-type]
            with open_regular(place) as file:
                texts.append("\n".join(map(escaped_line, file.read(MOST_HELP).decode().split("\n"))))
    return texts


def prints_json() -> bool:
    """Return whether the output must be JSON (``as_json``)."""
    return bool(click.get_current_context().meta.get(_JSON))


def show(value: Any, text: Text | None = None) -> None:
    """Print ``value`` with ``text``, or as JSON if JSON was requested or ``text`` is None. On a terminal a
    line begins in the colour of its first word."""
    if text is None or prints_json():
        import orjson
        from msgspec import Struct, structs

        plain = lambda one: structs.asdict(one) if isinstance(one, Struct) else str(one)  # noqa: E731
        shown = orjson.dumps(value, option=orjson.OPT_INDENT_2, default=plain).decode()
    else:
        shown = text.format_map(value) if isinstance(text, str) else text(value)
    lines = map(escaped_line, shown.split("\n"))
    click.echo("\n".join(lines if text is None or prints_json() else (painted(line, sys.stdout) for line in lines)))


def fail(what: str, where: str, remedy: str, *, status: int = 1) -> NoReturn:
    """End the command with the three lines on stderr, or with JSON if that was requested. Each part is printed on one
    line."""
    if JSON_ERRORS.get():
        error = {"what": what, "at": where, "do": remedy, "exitCode": status}
        # Escaped to ASCII, so that a terminal cannot interpret text of other parties.
        click.echo(json.dumps({"error": error}), err=True)
        sys.exit(status)
    flat = (escaped(" ".join(text.split())) for text in (what, where, remedy))
    lines = ("error: {}\n  at: {}\n  do: {}").format(*flat).split("\n")
    click.echo("\n".join(painted(line, sys.stderr, style=_STYLES[line[:6]]) for line in lines), err=True)
    sys.exit(status)


@contextlib.contextmanager
def failing(
    errors: type[Exception] | tuple[type[Exception], ...], where: str, remedy: str, *, what: str = "", status: int = 1
) -> Iterator[None]:
    """End the command if one of ``errors`` is raised: with ``what``, and the text of the error."""
    try:
        yield
    except errors as error:
        fail(f"{what}: {error}" if what else str(error), where, remedy, status=status)


def misused(what: str, remedy: str) -> NoReturn:
    """End a command that was called with wrong options."""
    fail(what, click.get_current_context().command_path, remedy, status=2)


def fail_start(
    error: StartError, where: str, remedy: str = "put it right and start again", *, status: int = 1
) -> NoReturn:
    """End the command for an error that prevents a start. Most such errors have their own place and remedy."""
    from identity_core.settings import SettingsError

    status = 2 if isinstance(error, SettingsError) else status
    fail(error.what, error.where or where, error.fix or remedy, status=status)


def escaped(text: str) -> str:
    """Return ``text`` with every non-printable character escaped: line ends, escapes, direction marks, lone
    surrogates."""
    return "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)


def escaped_line(line: str) -> str:
    """Return ``line`` with terminal control characters escaped as in JSON, so that JSON keeps its meaning."""
    if line.isprintable():
        return line
    return "".join(one if one.isprintable() or one == "\t" else json.dumps(one)[1:-1] for one in line)


def format_value(value: JsonValue) -> str:
    """Return a JSON value for people: a text as it is, any other value as JSON."""
    if isinstance(value, str):
        return value
    import orjson

    return orjson.dumps(value).decode()


INTERRUPTED = 130
_OF_REMEDIES: Final = ("remedy", "remedies", "supported")
# Called without a command, a group shows its help; click has a class for that since 8.2.
_NO_ARGUMENTS: tuple[type[Exception], ...] = tuple(filter(None, [getattr(click.exceptions, "NoArgsIsHelpError", None)]))


@contextlib.contextmanager
def reported(words: Sequence[str] = ()) -> Iterator[None]:
    """End the program with three lines for any exception; as JSON if ``words``, those of the command line, request
    that."""
    # Read here, because an invalid command line is reported before any option is parsed.
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
    """Replace a closed standard input or error by /dev/null, so that no file gets its descriptor. End the program if
    standard output is closed."""
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # noqa: SIM115  (until the program ends)
    if sys.stdout is None:
        fail("standard output is closed", "standard output", "redirect it to a file, or to /dev/null", status=2)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115


def _failed(error: Exception) -> NoReturn:
    # Imported here, because help does not use them.
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
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            remedy = "free space there" if is_full else "check that the place exists and that you may use it"
            fail(error.strerror or str(error), where, remedy, status=2 if isinstance(error, FileNotFoundError) else 1)
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
    import traceback

    if os.environ.get("IDENTITY_LOG_LEVEL") == "debug":
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{frame.filename}:{frame.lineno} {frame.name}"
    fail(f"unexpected {type(error).__name__}: {error}", where, "report this; IDENTITY_LOG_LEVEL=debug shows more")


def refused_values(details: Mapping[str, Any]) -> str:
    """Return the refused values, name by name, without those that the remedy repeats or that the service hides."""
    values = {name: value for name, value in details.items() if name not in _OF_REMEDIES and value != "(not shown)"}
    return "; ".join(f"{name}: {_listed(value)}" for name, value in values.items())


def _listed(value: Any) -> str:
    parts = [*value.values()] if isinstance(value, dict) else value
    return ", ".join(map(_listed, parts)) if isinstance(parts, list) else format_value(parts)
