"""The command line ``identity``. Commands are imported when they are used, so that ``--help`` answers at once."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from typing import Any

import click

from identity_core import __version__, build
from identity_core.cli.output import reported, show
from identity_core.cli.plugin_commands import OpenGroup, installed_distributions

# httpx would import rich and pygments for its own command line, which is not used here: 35 ms of every command that
# calls a service.
sys.modules.setdefault("httpx._main", None)  # type: ignore[arg-type]

# A start makes 215,000 objects that stay. With Python's own 700 the collector scans them repeatedly, which is a fifth
# of the start.
gc.set_threshold(300_000)

EXIT_CODES = """\b
Exit codes:
  0    success
  1    failure, or a check found a fault: what, where and what to do are on standard error
  2    wrong option, argument or setting; a missing file or installation; `identity fsck`: unreadable data
  130  interrupted by Ctrl-C
With --json a failure is one JSON object on standard error: {"error": {"what", "at", "do", "exitCode"}}."""


class MainGroup(OpenGroup):
    """The command line, which imports each command on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands, ``serve`` first."""
        return [*dict.fromkeys(("serve", *super().list_commands(ctx)))]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of that name."""
        if cmd_name != "serve":
            return super().get_command(ctx, cmd_name)
        from identity_core.cli.serve import command

        return command

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the command line. An error is reported in three lines (``output``)."""
        run: Callable[..., Any] = super().main
        if not standalone_mode:
            return run(*args, standalone_mode=False, **extra)
        given = args[0] if args else extra.get("args")
        words = sys.argv[1:] if given is None else [*given]
        with reported(words):
            status = run(*args, standalone_mode=False, **extra)
        sys.exit(status if isinstance(status, int) else 0)


@click.group(
    cls=MainGroup,
    place="",
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110, "show_default": True},
)
@click.version_option(__version__, prog_name="identity")
def main() -> None:
    """DIDs that anyone can check, and zero-knowledge proofs that an agent obtains on a holder's behalf.

    Begin with `identity demo`, then `identity serve`.
    """


@main.command()
def version() -> None:
    """Show what is installed here."""
    import platform

    versions = {"version": __version__, "build": build(), "interface": "1.0.0", "python": platform.python_version()}
    plugins = installed_distributions()
    head = "identity {version} (build {build}, interface {interface}), Python {python}".format_map(versions)
    lines = [head, *(f"  {name} {version}" for name, version in plugins.items())]
    show(versions | {"platform": platform.platform(), "plugins": plugins}, text=lambda _: "\n".join(lines))
