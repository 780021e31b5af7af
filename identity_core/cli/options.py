"""What commands share of their options: which installation, and values that are JSON or text.

A plugin's command uses these, and ``output``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
import orjson

from identity_core.cli.output import fail, fail_start
from identity_core.codec import strict_json
from identity_core.errors import JsonValue
from identity_core.settings import Settings, SettingsError, load, shown_hosts

if TYPE_CHECKING:
    from identity_core.plugin import BuildContext

MAX_FILE_OCTETS = 1 << 20
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

config_option = click.option(
    "--config",
    type=click.Path(path_type=Path, dir_okay=False),
    envvar="IDENTITY_CONFIG",
    help="Settings file (TOML).  [env var: IDENTITY_CONFIG; default: ./identity.toml if it is there]",
)
data_dir_option = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Where files are stored.  [default: ./identity-data]"
)
database_url_option = click.option("--database-url", help="A PostgreSQL server instead of SQLite files.")


def configured(config: Path | None, overrides: Mapping[str, object] | None = None) -> Settings:
    """The settings in force; a wrong configuration ends the command."""
    try:
        return load(file=config, overrides=overrides)
    except SettingsError as error:
        fail_start(error, "settings")


def of_installation(decorated: F) -> F:
    """The options that say which installation; the command gets its ``settings``."""

    @functools.wraps(decorated)
    def wrapped(config: Path | None, data_dir: Path | None, database_url: str | None, **rest: Any) -> None:
        decorated(configured(config, {"data_dir": data_dir, "database_url": database_url}), **rest)

    return config_option(data_dir_option(database_url_option(wrapped)))  # type: ignore[return-value]


def refuse_absent(settings: Settings, remedy: str, *, status: int = 2) -> None:
    """Ends the command where its installation is not there. Opening it would make a new one, which knows nothing, at a misspelt name."""
    if settings.database_url is None and not settings.data_dir.is_dir():
        fail("there is no such data directory", str(settings.data_dir), remedy, status=status)


@contextlib.contextmanager
def opened_part(opening: contextlib.AbstractAsyncContextManager[T]) -> Iterator[tuple[asyncio.Runner, T]]:
    """A part of an installation, and the event loop that it is opened, used and closed in."""
    with asyncio.Runner() as runner:
        part = runner.run(opening.__aenter__())
        try:
            yield runner, part
        finally:
            runner.run(opening.__aexit__(None, None, None))


def plugin_context(settings: Settings) -> BuildContext:
    """What the command of a plugin opens its own things with; the same that a start gives to the plugin."""
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin import BuildContext

    log = logging.getLogger("identity")
    return BuildContext(SystemClock(), log, settings.data_dir, settings.database_url, settings.server.workers)


def shown_database(settings: Settings) -> str:
    """The database in words, without a password."""
    if settings.database_url is None:
        return f"SQLite files in {settings.data_dir}"
    from urllib.parse import urlsplit

    hosts = shown_hosts(settings.database_url)
    if hosts is None:
        return "PostgreSQL"
    return f"PostgreSQL at {hosts or 'the local socket'}{urlsplit(settings.database_url).path}"


def json_or_text(text: str) -> JsonValue:
    """``18`` is a number, ``["JP","DE"]`` an array, ``JP`` and ``2008-01-01`` are strings.

    ``1000.00`` is a string too: a decimal is always written as one, and nothing here is a float.
    """
    try:
        value: JsonValue = strict_json.loads(text.encode())
    except strict_json.JsonRefused:
        return text
    return text if isinstance(value, float) else value


def counted(number: int, noun: str) -> str:
    """``1 version``, ``3 versions``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shown(value: JsonValue) -> str:
    """How such a value is printed for people: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def predicate_value(text: str) -> JsonValue:
    """The same for a predicate. It has no null: a pin of null would be no pin, so it ends the command."""
    value = json_or_text(text)
    if value is None:
        raise click.UsageError("null is no value of a predicate.")
    return value


def read_json(file: Any) -> dict[str, Any]:
    """The JSON object in an open file; anything else ends the command."""
    name = getattr(file, "name", "standard input")
    octets = file.read(MAX_FILE_OCTETS + 1)
    try:
        if len(octets) > MAX_FILE_OCTETS:
            raise strict_json.JsonRefused(f"has more than {MAX_FILE_OCTETS} octets")
        value = strict_json.loads(octets)
    except strict_json.JsonRefused as refused:
        fail(f"the file cannot be read: {refused}", name, "give a file of JSON", status=2)
    if not isinstance(value, dict):
        fail("the file holds no JSON object", name, "see the help of this command", status=2)
    return value
