"""``identity config``: the current settings and the source of each; a check of them; a first file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
from identity_commands.options import installed_plugins

from identity_core.cli.options import config_option, configured
from identity_core.cli.output import fail, fail_start, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.settings import Settings, SettingsError, ShownSetting, StartError, as_toml, load, require_extras
from identity_core.settings import show as shown
from identity_core.settings.fields import example, is_table, public_fields


@click.group(name="config", cls=OpenGroup)
def command() -> None:
    """Show and check the current settings; write a settings file."""


@command.command(name="show")
@config_option
@click.option("--origin", is_flag=True, help="Show whether a value comes from a file, the environment or the default.")
@click.option("--changed", is_flag=True, help="Show only settings that differ from their default.")
def show_command(config: Path | None, origin: bool, changed: bool) -> None:
    """Show each setting, including those of plugins. Secrets are masked."""
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


@command.command(name="check")
@config_option
def check(config: Path | None) -> None:
    """Report every error in the settings, including those of plugins. Nothing is opened or started.

    The exit code is 2 if there is an error.
    """
    found: list[StartError] = []
    in_tree: list[SettingsError] = []
    try:
        settings = load(file=config, found=in_tree)
        found += [*in_tree, *_wrong_tables(settings)]
        require_extras(settings)
    except StartError as error:
        found.append(error)
    said = [{"error": one.what, "at": one.where or "settings", "do": one.fix or "put it right"} for one in found]
    show({"valid": not said, "problems": said}, text=_problems)
    if said:
        raise SystemExit(2)


def _wrong_tables(settings: Settings) -> list[StartError]:
    """Return the faults of the plugins' tables."""
    found: list[StartError] = []
    try:
        tables = installed_plugins(settings).settings_tables()
    except StartError as error:
        return [error]
    for name, kinds in tables.items():
        for kind in kinds:
            try:
                settings.plugins.tables.read(name, kind, {})
            except StartError as error:
                found.append(error)
    return found


def _problems(body: dict[str, Any]) -> str:
    lines = [f"error: {one['error']}\n  at: {one['at']}\n  do: {one['do']}" for one in body["problems"]]
    return "\n".join(lines) or "the settings are good"


@command.command(name="init")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False), default="identity.toml")
def init(file: Path) -> None:
    """Write FILE (such as identity.toml) with each setting, its meaning and its default, commented out."""
    text = sample(installed_plugins(Settings()).settings_tables())
    try:
        with file.open("x", encoding="utf-8") as opened:
            opened.write(text)
    except FileExistsError:
        fail("there is such a file already", str(file), "name another, or edit it")
    except OSError as error:
        fail(f"the file cannot be written: {error.strerror}", str(file), "name another")
    show({"file": str(file)}, text="wrote {file}")


def sample(plugins: Mapping[str, Sequence[type[Any]]]) -> str:
    """Return the text, with a table for each of ``plugins`` by name. A key that has no default shows an example."""
    lines = [
        "# Settings of the identity service. A line counts without its #; what is left out has the default that it shows."
    ]
    lines += _table(Settings, "")
    for name, tables in sorted(plugins.items()):
        lines += ["", f"# [plugins.{name}]"]
        for table in tables:
            lines += _keys(table, f"plugins.{name}")
    return "\n".join(lines) + "\n"


def _table(table: type[Any], at: str) -> Iterator[str]:
    if at:
        yield from ("", f"# [{at}]")
    yield from _keys(table, at)
    for field, kind in public_fields(table):
        if is_table(kind):
            yield from _table(kind, f"{at}.{field.name}" if at else field.name)


def _keys(table: type[Any], at: str) -> Iterator[str]:
    for field, kind in public_fields(table):
        if not is_table(kind):
            help_text = field.metadata.get("help", "")
            says = field.default is not None or "unset" in help_text or "Default" in help_text
            yield f"## {help_text}" if says else f"## {help_text} Unset where it is left out."
            yield f"# {example(field, kind, None, f'{at}.{field.name}')}"
