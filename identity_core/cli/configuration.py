"""What the commands share that work on an installation: its settings, read once, and errors of them in three lines."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import click

from identity_core.settings import Settings, SettingsError, load

config_option = click.option(
    "--config", type=click.Path(path_type=Path, dir_okay=False), envvar="IDENTITY_CONFIG", help="Settings file (TOML)."
)


def configured(config: Path | None, overrides: Mapping[str, object] | None = None) -> Settings:
    """The settings in force; a wrong configuration ends the command."""
    try:
        return load(file=config, overrides=overrides)
    except SettingsError as error:
        click.echo(f"error: {error}", err=True)
        raise SystemExit(2) from None
