"""``identity plugins``: what is installed, and whether what the settings choose can be had.

``list`` imports plugins and builds nothing; how they do in a running service its ``/ready`` tells. ``check`` builds what the settings
choose and closes it again: over the installation, read-only, what can look at one, and all else in a temporary directory, so that it
leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import dataclasses
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import click

from identity_core.cli.options import config_option, configured, installed_plugins
from identity_core.cli.output import Text, fail_start, show, working
from identity_core.cli.plugin_commands import OpenGroup, with_added_options
from identity_core.cli.terminal import table_lines
from identity_core.plugin.choose import InstalledPlugin
from identity_core.settings import Settings, StartError
from identity_core.values import value_class

T = TypeVar("T")


@value_class
class PluginCheck:
    """``problems`` holds each thing that would stop a start; none means that it can be had."""

    plugins: list[InstalledPlugin]
    problems: list[StartError]


def check_plugins(settings: Settings) -> PluginCheck:
    """Builds everything that the settings choose. Raises ``StartError`` like ``installed_plugins``."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_check(settings, Path(folder)))


async def _check(settings: Settings, scratch: Path) -> PluginCheck:
    from identity_core.bootstrap.read_only import looking_plugins
    from identity_core.plugin.build import LookOnly

    manager = looking_plugins(settings, LookOnly(scratch))
    choices: tuple[Callable[[], object], ...] = (
        manager.did_methods,
        lambda: manager.ledger(settings.ledger.backend),
        lambda: manager.key_stores(settings.key_stores),
        *(partial(manager.custodian, name) for name in settings.custodian.names),
        lambda: manager.prover(settings.prover.backend),
        manager.securing_formats,
        manager.panels,
    )
    problems: list[StartError] = []
    for choose in choices:
        try:
            choose()
        except StartError as error:
            problems.append(error)
    plugins = manager.installed()
    await manager.close()
    return PluginCheck(plugins, problems)


@click.group(name="plugins", cls=OpenGroup)
def command() -> None:
    """List and check the installed plugins, and make new ones."""


_COLUMNS: Final[dict[str, Text]] = {
    "NAME": "{name}",
    "PROVIDES": lambda one: _provided(one["hook"]),
    "STATE": "{state}",
    "DISTRIBUTION": lambda one: f"{one['distribution']} {one['version']}".strip(),
    "ABOUT": lambda one: one["reason"] or one["summary"],
}


Running = Callable[[list[InstalledPlugin]], list[InstalledPlugin]]
"""Makes the rows of a running service of those that are installed."""


@command.command(name="list")
@config_option
@with_added_options("plugins.list")
def list_command(config: Path | None, running: Running | None = None) -> None:
    """Show what is installed, what the settings choose, and what failed; with --url, how it does in a running service."""
    plugins = _told(installed_plugins, config).installed()
    if running is not None:
        plugins = running(plugins)
    show([dataclasses.asdict(one) for one in plugins], text=lambda _: as_table(plugins), columns=_COLUMNS)


@command.command(name="check")
@config_option
def check_command(config: Path | None) -> None:
    """Build what the settings choose, as a start would, and say what is wrong."""
    with working("building the plugins"):
        check = _told(check_plugins, config)
    body = {
        "plugins": [dataclasses.asdict(one) for one in check.plugins],
        "problems": [" ".join(str(problem).split()) for problem in check.problems],
    }
    show(body, text=lambda _: _report(check))
    if check.problems:
        raise SystemExit(1)


def _told(look: Callable[[Settings], T], config: Path | None) -> T:
    """What ``look`` finds; what stops every start ends the command."""
    try:
        return look(configured(config))
    except StartError as error:
        fail_start(error, "plugins", "uninstall it, put it right, or name it in plugins.disabled")


def _report(check: PluginCheck) -> str:
    problems = "\n".join(f"problem: {_problem(problem)}" for problem in check.problems)
    return f"{as_table(check.plugins)}\n\n{problems or 'Everything that the settings choose can be had.'}"


def _problem(problem: StartError) -> str:
    """A wrong setting knows its place and remedy."""
    return f"{problem.what}\n  at: {problem.where}\n  do: {problem.fix}" if problem.where else str(problem)


def _provided(hook: str) -> str:
    return hook.removeprefix("identity_").removeprefix("provide_").replace("_", " ")


def as_table(plugins: list[InstalledPlugin]) -> str:
    """Return the rows for people."""
    return "\n".join(table_lines(_COLUMNS, list(map(dataclasses.asdict, plugins)), str, in_colour=False))
