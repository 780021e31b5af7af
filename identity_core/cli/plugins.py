"""``identity plugins``: what is installed, and whether what the settings choose can be had.

``list`` imports plugins and builds nothing; how they do in a running service it asks that one. ``check`` builds what the
settings choose and closes it again: over the installation, read-only, what can look at one, and all else in a temporary
directory, so that it leaves nothing behind. ``new`` is in ``plugins_new``.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import click

from identity_core.cli.options import config_option, configured
from identity_core.cli.output import as_json, fail_start, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.plugins_new import command as new_command
from identity_core.cli.remote import api_key_option
from identity_core.plugin.inventory import InstalledPlugin
from identity_core.settings import Settings, StartError

log = logging.getLogger("identity")


@dataclass(frozen=True, slots=True)
class PluginCheck:
    """``problems`` holds each thing that would stop a start; none means that it can be had."""

    plugins: list[InstalledPlugin]
    problems: list[StartError]


def list_plugins(settings: Settings) -> list[InstalledPlugin]:
    """What is installed. Raises ``StartError`` for what stops every start, such as a misspelt hook."""
    from identity_core.bootstrap import SystemClock
    from identity_core.plugin.manager import PluginManager

    return PluginManager.load(settings, clock=SystemClock(), logger=log).installed()


def check_plugins(settings: Settings) -> PluginCheck:
    """Builds everything that the settings choose. Raises ``StartError`` like ``list_plugins``."""
    with tempfile.TemporaryDirectory() as folder:
        return asyncio.run(_check(settings, Path(folder)))


async def _check(settings: Settings, scratch: Path) -> PluginCheck:
    from identity_core.bootstrap.look import looking_plugins
    from identity_core.plugin.look_only import LookOnly

    manager = looking_plugins(settings, LookOnly(scratch))
    choices: tuple[Callable[[], object], ...] = (
        manager.did_methods,
        lambda: manager.ledger(settings.ledger.backend),
        lambda: manager.key_stores(settings.key_stores),
        lambda: manager.custodian(settings.custodian.backend),
        lambda: manager.prover(settings.prover.backend),
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


command.add_command(new_command)


@command.command(name="list")
@config_option
@click.option("--url", help="A running service, whose states are shown.")
@api_key_option
@as_json
def list_command(config: Path | None, url: str | None, api_key: str | None, json_output: bool) -> None:
    """Show what is installed, what the settings choose, and what failed; with --url, how it does in a running service."""
    try:
        plugins = list_plugins(configured(config))
    except StartError as error:
        fail_start(error, "plugins", "uninstall it, put it right, or name it in plugins.disabled")
    if url is not None:
        from identity_core.cli.plugins_running import as_running, conditions

        plugins = as_running(plugins, conditions(url, api_key))
    show([dataclasses.asdict(one) for one in plugins], json_output=json_output, text=lambda _: as_table(plugins))


@command.command(name="check")
@config_option
@as_json
def check_command(config: Path | None, json_output: bool) -> None:
    """Build what the settings choose, as a start would, and say what is wrong."""
    try:
        check = check_plugins(configured(config))
    except StartError as error:
        fail_start(error, "plugins", "uninstall it, put it right, or name it in plugins.disabled")
    body = {
        "plugins": [dataclasses.asdict(one) for one in check.plugins],
        "problems": [" ".join(str(problem).split()) for problem in check.problems],
    }
    show(body, json_output=json_output, text=lambda _: _report(check))
    if check.problems:
        raise SystemExit(1)


def _report(check: PluginCheck) -> str:
    problems = "\n".join(f"problem: {_told(problem)}" for problem in check.problems)
    return f"{as_table(check.plugins)}\n\n{problems or 'Everything that the settings choose can be had.'}"


def _told(problem: StartError) -> str:
    """A wrong setting knows its place and remedy."""
    if problem.where:
        return f"{problem.what}\n  at: {problem.where}\n  do: {problem.fix}"
    return str(problem)


def as_table(plugins: list[InstalledPlugin]) -> str:
    """The rows for people, in columns as wide as they need to be."""
    rows = [("NAME", "PROVIDES", "STATE", "DISTRIBUTION", "ABOUT")]
    for one in plugins:
        kind = one.hook.removeprefix("identity_").removeprefix("provide_").replace("_", " ")
        rows.append((one.name, kind, one.state, f"{one.distribution} {one.version}".strip(), one.reason or one.summary))
    widths = [max(len(row[place]) for row in rows) for place in range(4)]
    lines = (
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[4]]) for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)
