"""``identity plugins check``: check that the plugins in the settings can be built.

It builds and closes them: those with a read-only mode over the installation, and all others in a temporary directory, so it leaves
nothing behind.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

import click
from identity_commands.terminal import working
from msgspec import Struct, structs

from identity_core.cli.options import config_option
from identity_core.cli.output import Command, show
from identity_core.plugin.choose import InstalledPlugin
from identity_core.settings import Settings, StartError
from identity_operations.commands.extensions import extensions_off, with_states
from identity_operations.commands.plugins import as_table, read_plugins


class PluginCheck(Struct, frozen=True):
    """The result of a check. ``problems`` are the faults that would prevent a start; if there are none, the plugin can be built."""

    plugins: list[InstalledPlugin]
    problems: list[StartError]


def check_plugins(settings: Settings) -> PluginCheck:
    """Build everything that the settings choose. Raises ``StartError`` like ``installed_plugins``."""
    return asyncio.run(_check(settings))


async def _check(settings: Settings) -> PluginCheck:
    from identity_transparency.read_only import open_plugins

    async with open_plugins(settings) as (manager, _):
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
        try:
            off = extensions_off(settings)
        except StartError as error:
            problems.append(error)
            off = ()
        return PluginCheck(with_states(manager.installed(), off), problems)


@click.command(name="check", cls=Command)
@config_option
def command(config: Path | None) -> None:
    """Build the selected plugins as a start would, and report errors."""
    with working("building the plugins"):
        check = read_plugins(check_plugins, config)
    body = {
        "plugins": [structs.asdict(one) for one in check.plugins],
        "problems": [" ".join(str(problem).split()) for problem in check.problems],
    }
    show(body, text=lambda _: _report(check))
    if check.problems:
        raise SystemExit(1)


def _report(check: PluginCheck) -> str:
    problems = "\n".join(f"problem: {_problem(problem)}" for problem in check.problems)
    return f"{as_table(check.plugins)}\n\n{problems or 'Everything that the settings choose can be had.'}"


def _problem(problem: StartError) -> str:
    """Return the problem. That of a wrong setting has its place and remedy."""
    return f"{problem.what}\n  at: {problem.where}\n  do: {problem.fix}" if problem.where else str(problem)
