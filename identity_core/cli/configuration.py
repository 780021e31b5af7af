"""What the commands share that work on an installation: its settings, read once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from identity_core.cli.output import fail, fail_start
from identity_core.settings import Settings, SettingsError, load, shown_hosts

F = TypeVar("F", bound=Callable[..., Any])

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


def refuse_absent(settings: Settings, remedy: str, *, status: int = 2) -> None:
    """Ends the command where its installation is not there. Opening it would make a new one, which knows nothing, at a misspelt name."""
    if settings.database_url is None and not settings.data_dir.is_dir():
        fail("there is no such data directory", str(settings.data_dir), remedy, status=status)


def shown_database(settings: Settings) -> str:
    """The database in words, without a password."""
    if settings.database_url is None:
        return f"SQLite files in {settings.data_dir}"
    from urllib.parse import urlsplit

    hosts = shown_hosts(settings.database_url)
    if hosts is None:
        return "PostgreSQL"
    return f"PostgreSQL at {hosts or 'the local socket'}{urlsplit(settings.database_url).path}"
