"""``identity extensions``: which installed extensions are on, and why; turn one on or off; remove what one has stored."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from identity_core.cli.options import config_option, configured, installed_plugins, of_installation, refuse_absent
from identity_core.cli.output import Text, agreed, failing, misused, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.settings_file import require_from_file, write_settings
from identity_core.database import DatabaseAbsent
from identity_core.extension.choice import (
    ChosenExtensions,
    choose_extensions,
    kept_extensions,
    named_extension,
    purge_tables,
    read_store,
    tables_of,
)
from identity_core.extension.order import InstalledExtension, in_order
from identity_core.settings import Settings


@click.group(name="extensions", cls=OpenGroup)
def command() -> None:
    """List the installed extensions; turn one on or off; remove its tables."""


def chosen_extensions(settings: Settings) -> ChosenExtensions:
    """Return the installed extensions of an installation, which may not be there yet. Raises ``StartError``."""
    kept: frozenset[str] = frozenset()
    with contextlib.suppress(DatabaseAbsent):
        kept = read_store(settings, kept_extensions)
    return choose_extensions(_installed(settings), settings, kept)


def _installed(settings: Settings) -> list[InstalledExtension]:
    return in_order(installed_plugins(settings).collection.extensions)


@command.command(name="list")
@of_installation
def list_command(settings: Settings) -> None:
    """Show the installed extensions, which of them are on, and what says so."""
    text = "{name}: {state} ({because})"
    columns: dict[str, Text] = {"NAME": "{name}", "STATE": "{state}", "BECAUSE": "{because}", "VERSION": "{version}"}
    rows = chosen_extensions(settings).rows()
    show(rows, text=lambda _: "\n".join(map(text.format_map, rows)), columns=columns)


@command.command(name="enable")
@click.argument("name")
@config_option
def enable(name: str, config: Path | None) -> None:
    """Turn the extension NAME on in the settings file. A restart makes it so."""
    _turn(configured(config), name, enable=True)


@command.command(name="disable")
@click.argument("name")
@config_option
def disable(name: str, config: Path | None) -> None:
    """Turn the extension NAME off in the settings file. A restart makes it so; its tables stay."""
    _turn(configured(config), name, enable=False)


def _turn(settings: Settings, name: str, *, enable: bool, dropped: Sequence[str] | None = None) -> None:
    """Turn an extension on or off in the settings file, drop its tables ``dropped``, and show the result."""
    path = (settings.file or Path("identity.toml")).resolve()
    one, key = named_extension(name, _installed(settings), "NAME"), f"extensions.{'enabled' if enable else 'disabled'}"
    require_from_file(settings, name)
    with failing((OSError, ValueError), str(path), f'write {key} = ["{name}"] there yourself', what="not changed"):
        write_settings(path, one.declared, enable=enable)
    state: dict[str, Any] = {"extension": name, "on": enable, "file": str(path)}
    if dropped is not None:
        purge_tables(settings, one.declared, dropped)
        state["dropped"] = dropped
    show(state, text=f"{name} is {'on' if enable else 'off'} in {{file}}; restart the service")


@command.command(name="remove")
@click.argument("name")
@click.option("--purge", is_flag=True, help="Disable it and drop its tables.")
@click.option("--yes", is_flag=True, help="Do not ask; there is no way back but a backup.")
@of_installation
def remove(settings: Settings, name: str, purge: bool, yes: bool) -> None:
    """Drop what the extension NAME has stored. Stop the service before. Without --purge, say only what would be dropped."""
    refuse_absent(settings, "name the one of the service with --data-dir")
    installed = _installed(settings)
    one = named_extension(name, installed, "NAME")
    dialect = "sqlite" if settings.database_url is None else "postgresql"
    tables = read_store(settings, lambda reading: tables_of(reading, dialect, one.declared, installed))
    says = f"{name} has {'the tables ' * bool(tables)}{', '.join(tables) or 'no tables'}"
    if not purge:
        show({"extension": name, "tables": tables}, text=f"{says}; --purge drops them and disables it")
    elif not agreed(yes, f"{says}. Drop them and disable {name}?"):
        misused(f"nothing was changed: {says}", "give --yes to drop them")
    else:
        _turn(settings, name, enable=False, dropped=tables)
