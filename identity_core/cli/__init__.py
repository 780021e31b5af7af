"""The command line ``identity``. Groups are imported when they are used, so that ``--help`` answers at once."""

from __future__ import annotations

import importlib
import sys

import click

from identity_core import __version__

GROUPS = {
    "serve": ("identity_core.cli.serve", "Serve the API on an embedded default or a database server."),
    "demo": ("identity_core.cli.demo", "Tell the whole story against an own server, step by step."),
    "did": ("identity_core.cli.did", "Create, resolve, update, rotate, recover, deactivate; check logs."),
    "auth": ("identity_core.cli.auth", "Sign challenges."),
    "keys": ("identity_core.cli.keys", "API keys: create, list, rotate, revoke."),
    "plugins": ("identity_core.cli.plugins", "List and check the installed plugins."),
    "config": ("identity_core.cli.config", "Show the settings in force and where each came from."),
    "proof": ("identity_core.cli.proof", "Verify proofs without the service."),
    "doctor": ("identity_core.cli.doctor", "Look at this installation and say what is wrong."),
}


class LazyGroup(click.Group):
    """A group that knows its commands by name and imports them on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(GROUPS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in GROUPS:
            return None
        if ctx.resilient_parsing or sys.argv[1:] in ([], ["--help"]):
            return click.Command(cmd_name, help=GROUPS[cmd_name][1])
        command: click.Command = importlib.import_module(GROUPS[cmd_name][0]).command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, summary) for name, (_, summary) in GROUPS.items()])


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="identity")
def main() -> None:
    """DIDs that anyone can check, and zero-knowledge proofs that an agent obtains on a holder's behalf.

    Begin with `identity demo`, then `identity serve`.
    """
