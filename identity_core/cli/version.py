"""``identity version``: the versions that a bug report needs."""

from __future__ import annotations

import platform

import click

from identity_core import __version__, build
from identity_core.cli.output import Command, show


@click.command(name="version", cls=Command)
def command() -> None:
    """Show what is installed here."""
    versions = {"version": __version__, "build": build(), "interface": "1.0.0", "python": platform.python_version()}
    plugins = _plugins()
    head = "identity {version} (build {build}, interface {interface}), Python {python}".format_map(versions)
    lines = [head, *(f"  {name} {version}" for name, version in plugins.items())]
    show(versions | {"platform": platform.platform(), "plugins": plugins}, text=lambda _: "\n".join(lines))


def _plugins() -> dict[str, str]:
    """The distributions that offer plugins; none of them is imported."""
    from importlib.metadata import entry_points

    found = {one.dist.name: one.dist.version for one in entry_points(group="identity.plugins") if one.dist}
    return dict(sorted(found.items()))
