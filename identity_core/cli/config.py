"""``identity config``: the current settings, and the source of each."""

from __future__ import annotations

from pathlib import Path

import click

from identity_core.cli.options import config_option, configured, installed_plugins
from identity_core.cli.output import fail_start, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.settings import Settings, ShownSetting, StartError, as_toml
from identity_core.settings import show as shown


@click.group(name="config", cls=OpenGroup)
def command() -> None:
    """Show the settings in force, check them, begin a file."""


@command.command(name="show")
@config_option
@click.option("--origin", is_flag=True, help="Say where each value came from.")
@click.option("--changed", is_flag=True, help="Leave out what has its default.")
def show_command(config: Path | None, origin: bool, changed: bool) -> None:
    """Show every setting, those of the plugins too. Secrets are masked."""
    try:
        rows = show_settings(configured(config))
    except StartError as error:
        fail_start(error, "settings", "put it right")
    if changed:
        rows = [row for row in rows if row.origin.kind != "default"]
    listed = [{"key": row.key, "value": row.value, "origin": str(row.origin), "help": row.help} for row in rows]
    show(listed, text=lambda _: "\n".join(_line(row, origin) for row in rows))


def show_settings(settings: Settings) -> list[ShownSetting]:
    """Return the core's settings and those of every installed plugin. Raises ``StartError``: when they are invalid."""
    return shown(settings, installed_plugins(settings).settings_tables())


def _line(row: ShownSetting, origin: bool) -> str:
    value = "(unset)" if row.value is None else as_toml(row.value)
    return f"{row.key} = {value}" + (f"    # {row.origin}" if origin else "")
