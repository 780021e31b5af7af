"""Options that commands share: the installation, and numbers. A plugin's command uses these, and ``output``."""

from __future__ import annotations

import functools
import logging
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from identity_core.cli.output import prints_json
from identity_core.settings import Settings, load, shown_hosts

if TYPE_CHECKING:
    from identity_core.plugin import BuildContext

F = TypeVar("F", bound=Callable[..., Any])

FILE = click.Path(path_type=Path, dir_okay=False)

config_option = click.option(
    "--config",
    type=FILE,
    envvar="IDENTITY_CONFIG",
    help="Path of the settings file (TOML).  [env var: IDENTITY_CONFIG; default: ./identity.toml if it exists]",
)
data_dir_option = click.option(
    "--data-dir", type=click.Path(path_type=Path), help="Data directory.  [default: ./identity-data]"
)
database_url_option = click.option(
    "--database-url", help="URL of a PostgreSQL database. Without it SQLite files are used."
)


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


def of_installation(decorated: F) -> F:
    """Add the options that select the installation. The command gets its ``settings``."""

    @functools.wraps(decorated)
    def wrapped(config: Path | None, data_dir: Path | None, database_url: str | None, **rest: Any) -> None:
        decorated(configured(config, {"data_dir": data_dir, "database_url": database_url}), **rest)

    return config_option(data_dir_option(database_url_option(wrapped)))  # type: ignore[return-value]


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
