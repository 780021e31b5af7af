"""Options that commands share: the installation, and numbers.

A plugin's command uses these, and ``output``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from identity_codec.structs import UNSET, UnsetType
from identity_core.cli.output import fail, prints_json
from identity_core.domain.callers import KNOWN, require_known
from identity_core.errors import InvalidRequest
from identity_core.settings import Settings, load, shown_hosts

if TYPE_CHECKING:
    from identity_core.plugin import BuildContext
    from identity_core.plugin.manager import PluginManager

F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")

NONE = "none"
FILE = click.Path(path_type=Path, dir_okay=False)
FILE_THERE = click.Path(path_type=Path, dir_okay=False, exists=True)

config_option = click.option(
    "--config",
    type=FILE,
    envvar="IDENTITY_CONFIG",
    help="Settings file (TOML).  [env var: IDENTITY_CONFIG; default: ./identity.toml if it is there]",
)
data_dir_option = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Where files are stored.  [default: ./identity-data]"
)
database_url_option = click.option("--database-url", help="A PostgreSQL server instead of SQLite files.")


# The password of a URL: before the last @ of the authority, or as a parameter.
_PASSWORD: Final = re.compile(r"^[^/?#]*//[^/?#]*:[^/?#]+@|[?&]password=", re.ASCII)
_WHOLE: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_DECIMAL: Final = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{1,15})?", re.ASCII)


class Whole(click.IntRange):
    """A range of whole numbers in decimal digits: ``int`` also accepts ``1_0`` and digits of other scripts."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and _WHOLE.fullmatch(value) is None:
            self.fail(f"{value} is not a whole number such as 12.", param, ctx)
        return super().convert(value, param, ctx)


class Number(click.FloatRange):
    """A range of decimal numbers: ``float`` also accepts ``inf``, and ``nan``, which passes every range check."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if isinstance(value, str) and _DECIMAL.fullmatch(value) is None:
            self.fail(f"{value} is not a number such as 12 or 0.5.", param, ctx)
        return super().convert(value, param, ctx)


class OrNone(click.ParamType[Any]):
    """A value of another type, or ``none``, which means no limit."""

    name = f"N|{NONE}"

    def __init__(self, kind: click.ParamType[Any]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == NONE else self._kind.convert(value, param, ctx)


def configured(config: Path | None, overrides: Mapping[str, object] | None = None) -> Settings:
    """Return the current settings. A file that the command line does not name is printed on stderr. A
    ``SettingsError`` ends the command with place and remedy."""
    settings = load(file=config, overrides=overrides)
    if _PASSWORD.search(str((overrides or {}).get("database_url", ""))):
        remedy = "set IDENTITY_DATABASE_URL or IDENTITY_DATABASE_URL_FILE, or name a passfile in the URL"
        click.echo(f"warning: other users of this machine can read the password in --database-url; {remedy}", err=True)
    context = click.get_current_context(silent=True)
    if config is None and settings.file is not None and context is not None and not prints_json():
        if "identity.settings" not in context.meta:
            click.echo(f"settings: {settings.file.absolute()}", err=True)
        context.meta["identity.settings"] = settings.file
    return settings


def several(flag: str, words: str, says: str, *, into: str | None = None) -> Callable[[F], F]:
    """Return an option that may be given several times, each time with a value for each of the ``words``."""
    names = [flag] if into is None else [flag, into]
    return click.option(*names, nargs=len(words.split()), multiple=True, metavar=words, help=says)


def all_of(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return several options as one decorator, in their order."""
    return lambda command: functools.reduce(lambda decorated, option: option(decorated), reversed(options), command)


installation_options = all_of(config_option, data_dir_option, database_url_option)


def of_installation(decorated: F) -> F:
    """Add the options that select the installation. The command gets its ``settings``."""

    @functools.wraps(decorated)
    def wrapped(config: Path | None, data_dir: Path | None, database_url: str | None, **rest: Any) -> None:
        decorated(configured(config, {"data_dir": data_dir, "database_url": database_url}), **rest)

    return installation_options(wrapped)  # type: ignore[return-value]


def refuse_absent(settings: Settings, remedy: str, *, status: int = 2) -> None:
    """End the command if its installation is missing. Opening a misspelt name would create a new, empty one."""
    folder = settings.data_dir
    if settings.database_url is not None:
        if _is_bare(settings.database_url):
            fail("there is no installation in this database", shown_database(settings), remedy, status=status)
    elif not folder.is_dir():
        fail("there is no such data directory", str(folder), remedy, status=status)
    elif not any(folder.glob("*.sqlite")):
        fail("there is no installation in this data directory", str(folder), remedy, status=status)


def _is_bare(url: str) -> bool:
    """Return whether the server's database never had an installation; False if it is unreachable, which the next
    opening reports."""
    from identity_core.database import DatabaseError, look_at

    with contextlib.ExitStack() as stack, contextlib.suppress(DatabaseError):
        look = look_at(url, Path())
        stack.callback(look.end)
        found = look.read_now(lambda asked: asked.execute("SELECT to_regclass('store_migrations')").fetchone())
        return bool(found[0] is None)
    return False


@contextlib.contextmanager
def opened_part(opening: contextlib.AbstractAsyncContextManager[T]) -> Iterator[tuple[asyncio.Runner, T]]:
    """Open a part of an installation, and yield it with the event loop in which it must be used."""
    with asyncio.Runner() as runner:
        part = runner.run(opening.__aenter__())
        try:
            yield runner, part
        finally:
            runner.run(opening.__aexit__(None, None, None))


def installed_plugins(settings: Settings) -> PluginManager:
    """Return the installed plugins, none of them built. Raises ``StartError``: for an error that stops every start,
    such as a misspelt hook."""
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin.manager import PluginManager

    return PluginManager.load(settings, clock=SystemClock(), logger=logging.getLogger("identity"))


def plugin_context(settings: Settings) -> BuildContext:
    """Return the context in which the command of a plugin opens its own resources; a startup gives the plugin the
    same."""
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin import BuildContext

    return BuildContext(
        SystemClock(),
        logging.getLogger("identity"),
        settings.data_dir,
        settings.database_url,
        settings.server.workers,
        public_url=settings.server.public_url,
        mapped_mebibytes=settings.mapped_mebibytes,
        database_readers=settings.database_readers,
    )


def shown_database(settings: Settings) -> str:
    """Return the description of the database, without a password."""
    if settings.database_url is None:
        return f"SQLite files in {settings.data_dir}"
    from urllib.parse import urlsplit

    hosts = shown_hosts(settings.database_url)
    if hosts is None:
        return "PostgreSQL"
    return f"PostgreSQL at {hosts or 'the local socket'}{urlsplit(settings.database_url).path}"


def counted(number: int, noun: str) -> str:
    """Return ``1 version`` or ``3 versions``."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def comma_separated(_: click.Context, __: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Return the parts between commas."""
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def or_null(value: T | None) -> T | UnsetType | None:
    """Return the value of an option as a member of a request: missing, or null for ``none``."""
    return UNSET if value is None else None if value in (NONE, (NONE,)) else value


def known_scopes(context: click.Context, option: click.Parameter, text: str | None) -> tuple[str, ...] | None:
    """Return the known scopes between commas."""
    scopes = comma_separated(context, option, text)
    try:
        require_known(scopes or ())
    except InvalidRequest as error:
        raise click.BadParameter(f"{error} Choose of {', '.join(sorted(KNOWN))}.") from error
    return scopes
