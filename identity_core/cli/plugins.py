"""``identity plugins``: what is installed, and whether what the settings choose can be had.

``list`` imports plugins and builds nothing; how they do in a running service its ``/ready`` tells. ``check`` builds what the settings
choose and closes it again: over the installation, read-only, what can look at one, and all else in a temporary directory, so that it
leaves nothing behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from identity_codec.values import value_class
from identity_core.cli.options import config_option, configured, installed_plugins
from identity_core.cli.output import Text, fail, fail_start, show, working
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.cli.profiles import signed_in
from identity_core.cli.remote import api_key_option, named_service_option, session
from identity_core.client import Exchange, ServiceError
from identity_core.plugin.choose import InstalledPlugin
from identity_core.plugin.sockets import BEARER_HOOK, PROVIDE_HOOKS
from identity_core.settings import Settings, StartError

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


@command.command(name="list")
@config_option
@named_service_option("A running service, whose states are shown.")
@api_key_option
def list_command(config: Path | None, url: str | None, api_key: str | None) -> None:
    """Show what is installed, what the settings choose, and what failed; with --url, how it does in a running service."""
    plugins = _told(installed_plugins, config).installed()
    if url is not None:
        plugins = as_running(plugins, conditions(url, **signed_in(url, api_key)))
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
    """The rows for people, in columns as wide as they need to be."""
    rows = [("NAME", "PROVIDES", "STATE", "DISTRIBUTION", "ABOUT")]
    for one in plugins:
        rows.append(
            (
                one.name,
                _provided(one.hook),
                one.state,
                f"{one.distribution} {one.version}".strip(),
                one.reason or one.summary,
            )
        )
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


HOOKS = {kind: hook for hook, kind in PROVIDE_HOOKS.items()} | {"bearer": BEARER_HOOK}


def conditions(url: str, *, api_key: str | None = None, token: str | None = None) -> Mapping[str, Any]:
    """The ``plugins`` of ``/ready``, by ``kind:name``, whether the service is ready or not. Ends the command where it does not show
    them."""
    seen: list[Exchange] = []
    # 503 says that it is not ready, and still says how it is.
    with session(url, api_key, token=token, on_exchange=seen.append) as opened, contextlib.suppress(ServiceError):
        opened.call("GET", "/ready")
    answer = seen[-1].answer if seen else None
    plugins = answer.get("plugins") if isinstance(answer, dict) else None
    if not isinstance(plugins, dict):
        remedy = "give an admin's key or one with the scope service:read: IDENTITY_API_KEY or --api-key FILE"
        fail("the service does not show how its plugins do", url, remedy)
    return plugins


def as_running(installed: list[InstalledPlugin], running: Mapping[str, Any]) -> list[InstalledPlugin]:
    """The rows of this installation with the states of the service, which may be set up otherwise: what is chosen here and not in use
    there is merely available. What only the service has comes last, without a distribution."""
    rows, left = [], dict(running)
    kinds = {hook: kind for kind, hook in HOOKS.items()}
    for row in installed:
        condition = left.pop(f"{kinds.get(row.hook, '-')}:{row.name}", None)
        if condition is not None:
            rows.append(replace(row, state=condition["state"], reason=_processes(condition)))
        elif row.state == "chosen" and running:
            rows.append(replace(row, state="available", reason="the service does not use it"))
        else:
            rows.append(row)
    for key, condition in left.items():
        kind, _, name = key.partition(":")
        rows.append(InstalledPlugin(name, HOOKS.get(kind, kind), "", "", condition["state"], _processes(condition)))
    return rows


def _processes(condition: Mapping[str, Any]) -> str:
    processes = condition.get("processes")
    if processes is None:
        return ""
    return f"{processes['ready']} of {processes['wanted']} processes, {processes['restarts']} restarts"
