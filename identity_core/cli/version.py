"""``identity version``: the versions that a bug report needs."""

from __future__ import annotations

import platform

import click

from identity_core import __version__
from identity_core.cli.output import Command, show


@click.command(name="version", cls=Command)
def command() -> None:
    """Show what is installed here."""
    versions = {"version": __version__, "interface": "1.0.0", "python": platform.python_version()}
    show(
        versions | {"platform": platform.platform(), "plugins": _plugins()},
        text=lambda body: "\n".join(
            [f"identity {body['version']} (interface {body['interface']}), Python {body['python']}"]
            + [f"  {name} {version}" for name, version in body["plugins"].items()]
        ),
    )


def _plugins() -> dict[str, str]:
    """The distributions that offer plugins; none of them is imported."""
    from importlib.metadata import entry_points

    found = {one.dist.name: one.dist.version for one in entry_points(group="identity.plugins") if one.dist}
    return dict(sorted(found.items()))
