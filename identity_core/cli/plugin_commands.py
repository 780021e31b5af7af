"""Commands of installed plugins: entry points of the group ``identity.commands``.

The name of an entry point is the position of its command (``ledger.evm`` is ``identity ledger evm``), its value a
click command or group. The names are read when the help of a level needs them, or for a word that the level does not
have. The module is imported when its command is called. A command of a plugin never replaces one of the core.

An entry point of the group ``identity.help`` names a package whose ``help.txt`` has the texts of help about the
commands of its distribution. A line ``ledger.evm: Deploy …`` is the line of a command in the help of its level. It
may begin with its section: ``demo: Start | Run …``. Other lines are examples of calls: ``identity demo``.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import click

from identity_core.cli.output import HELP, Command, fail, help_texts
from identity_core.files import install_command

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS = "identity.commands"
SECTIONS = ("Start", "Identifiers", "Credentials and proofs", "Account", "Operate a service", "Operate beside the data")


class OpenGroup(click.Group):
    """A group to which plugins can add commands. ``place``: the words that lead to it, joined by dots."""

    command_class = Command

    def __init__(self, *arguments: Any, place: str | None = None, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._prefix = f"{self.name if place is None else place}.".removeprefix(".")

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the group's own commands, then those of plugins."""
        own = super().list_commands(ctx)
        return [*own, *sorted(self._added().keys() - {*own})]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the group's own command, else the one of a plugin. A plugin's command that cannot be imported ends
        the program."""
        own = super().get_command(ctx, cmd_name)
        if own is not None:
            return own
        found = self._added().get(cmd_name, [])
        place = f"{self._prefix}{cmd_name}"
        here = [one for one in found if one.name == place]
        if here:
            return _loaded(place, here)
        return OpenGroup(name=cmd_name, place=place, help=_origin(found)) if found else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, without importing a plugin."""
        installed = _installed()
        added, texts = self._added(installed), help_texts({one.value for one in installed.select(group=HELP)})
        summaries = {name: line for text in texts for name, line in re.findall(r"^([\w.-]+): (.+)$", text, re.M)}
        names = self.list_commands(ctx)
        width = formatter.width - 6 - max(map(len, names), default=0)
        sections: dict[str, list[tuple[str, str]]] = {one: [] for one in SECTIONS}
        for name in names:
            own = self.commands.get(name)
            of_itself = own.get_short_help_str(width) if own else _origin(added.get(name, []))
            section, _, line = summaries.get(f"{self._prefix}{name}", of_itself).rpartition(" | ")
            sections.setdefault(section or "Commands", []).append((name, line))
        for section, rows in sections.items():
            if rows:
                with formatter.section(section):
                    formatter.write_dl(rows)

    def _added(self, installed: Any = None) -> dict[str, list[EntryPoint]]:
        """Return the entry points at each position below this group, by the next word."""
        added: dict[str, list[EntryPoint]] = {}
        for one in (installed or _installed()).select(group=ENTRY_POINTS):
            if one.name.startswith(self._prefix):
                added.setdefault(one.name.removeprefix(self._prefix).partition(".")[0], []).append(one)
        return added


def _installed(**chosen: str) -> Any:
    """Return entry points of the installed distributions. Importing the library takes longer than most commands."""
    from importlib.metadata import entry_points

    return entry_points(**chosen)


def _loaded(place: str, found: list[EntryPoint]) -> click.Command:
    words = f"identity {place.replace('.', ' ')}"
    if len(found) > 1:
        fail(f"several plugins bring this command: {_distributions(found)}", words, "uninstall all of them but one")
    [entry_point] = found
    try:
        command = entry_point.load()
        if not isinstance(command, click.Command):
            raise TypeError("it is not a click command")
    except Exception as error:  # noqa: BLE001  (the border: whatever a plugin's module raises)
        where, remedy = f"{entry_point.value} of {_distributions(found)}", "correct this plugin, or uninstall it"
        if isinstance(error, ModuleNotFoundError) and str(error.name).startswith("identity_"):
            remedy = install_command(str(error.name).partition(".")[0].replace("_", "-"))
        fail(f"{words} cannot be loaded: {type(error).__name__}: {error}", where, remedy)
    return command


def _origin(found: list[EntryPoint]) -> str:
    return f"From {_distributions(found)}."


def _distributions(found: list[EntryPoint]) -> str:
    return ", ".join(sorted({one.dist.name for one in found if one.dist}))


def installed_distributions() -> dict[str, str]:
    """Return the versions of the distributions with plugins, by name. None of them is imported."""
    found = {one.dist.name: one.dist.version for one in _installed(group="identity.plugins") if one.dist}
    return dict(sorted(found.items()))
