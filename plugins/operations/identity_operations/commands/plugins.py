"""``identity plugins``: the installed plugins. ``list`` imports them and builds nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import click
from identity_commands.options import installed_plugins, with_added_options
from identity_commands.terminal import ids_option, show_table, table_lines
from msgspec import structs

from identity_core.cli.options import config_option, configured
from identity_core.cli.output import Text, fail_start
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.plugin.choose import InstalledPlugin
from identity_core.settings import Settings, StartError
from identity_operations.commands.extensions import extensions_off, with_states

T = TypeVar("T")


@click.group(name="plugins", cls=OpenGroup)
def command() -> None:
    """List and check the installed plugins; create new ones."""


_COLUMNS: Final[dict[str, Text]] = {
    "NAME": "{name}",
    "PROVIDES": lambda one: _provided(one["hook"]),
    "STATE": "{state}",
    "DISTRIBUTION": lambda one: f"{one['distribution']} {one['version']}".strip(),
    "ABOUT": lambda one: one["reason"] or one["summary"],
}


Running = Callable[[list[InstalledPlugin]], list[InstalledPlugin]]
"""Function that returns the rows of a running service for the installed plugins."""


@command.command(name="list")
@config_option
@ids_option
@with_added_options("plugins.list")
def list_command(config: Path | None, running: Running | None = None) -> None:
    """List the installed plugins, which of them the settings select, and errors. With --url, show their state in a
    running service.
    """
    plugins = read_plugins(_listed, config)
    if running is not None:
        plugins = running(plugins)
    show_table([structs.asdict(one) for one in plugins], text=lambda _: as_table(plugins), columns=_COLUMNS)


def _listed(settings: Settings) -> list[InstalledPlugin]:
    return with_states(installed_plugins(settings).installed(), extensions_off(settings))


def read_plugins(look: Callable[[Settings], T], config: Path | None) -> T:
    """Return the result of ``look`` for the settings. An error that stops every start ends the command."""
    try:
        return look(configured(config))
    except StartError as error:
        fail_start(error, "plugins", "uninstall it, put it right, or name it in plugins.disabled")


def _provided(hook: str) -> str:
    return hook.removeprefix("identity_").removeprefix("provide_").replace("_", " ")


def as_table(plugins: list[InstalledPlugin]) -> str:
    """Return the rows for people."""
    return "\n".join(table_lines(_COLUMNS, list(map(structs.asdict, plugins)), str, in_colour=False))
