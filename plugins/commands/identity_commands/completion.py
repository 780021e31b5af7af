"""``identity completion``: completion of the command line in a shell."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

from identity_commands.profiles import xdg_folder
from identity_core.cli.output import Command, fail, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.files import durable_draft

MARK: Final = "# Written by `identity completion install`.\n"
SHELLS: Final = ("bash", "zsh", "fish")
AFTER: Final = {
    "bash": "begin a new shell; it needs the package bash-completion",
    "zsh": "have `fpath+=(~/.zfunc); autoload -Uz compinit; compinit` in ~/.zshrc, and begin a new shell",
    "fish": "begin a new shell",
}


@click.group(name="completion", cls=OpenGroup)
def command() -> None:
    """Set up completion of commands and options in the shell."""


def _shell(_: click.Context, __: click.Parameter, name: str | None) -> str:
    found = name or Path(os.environ.get("SHELL", "")).name
    if found not in SHELLS:
        raise click.BadParameter(f"This shell is {found or 'unknown'}: name one of {', '.join(SHELLS)}.")
    return found


shell_argument = click.argument("shell", required=False, callback=_shell, metavar="[bash|zsh|fish]")


@command.command(name="show", cls=Command)
@shell_argument
def show_script(shell: str) -> None:
    """Print the completion script. Without an argument the current shell is used."""
    show({"shell": shell, "script": _script(shell)}, text="{script}")


@command.command(name="install", cls=Command)
@shell_argument
def install(shell: str) -> None:
    """Install the completion script for this user. Without an argument the current shell is used."""
    path = _place(shell)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or (path.exists() and not path.read_bytes().startswith(MARK.encode())):
        fail(
            "there is a file that this command did not write", str(path), "move it away, or `identity completion show`"
        )
    with durable_draft(path, (MARK + _script(shell)).encode()) as draft:
        draft.chmod(0o644)
        draft.replace(path)
    show(
        {"shell": shell, "path": str(path), "next": AFTER[shell]}, text="{path} completes `identity` in {shell}: {next}"
    )


def _script(shell: str) -> str:
    made = get_completion_class(shell)
    if made is None:
        fail(f"nothing completes words for {shell}", "click", f"choose one of {', '.join(SHELLS)}")
    # By the name that the entry point has, however this process was begun.
    template = made(click.Command("identity"), {}, "identity", "_IDENTITY_COMPLETE")
    return template.source_template % template.source_vars()


def _place(shell: str) -> Path:
    home = Path.home()
    if shell == "bash":
        return xdg_folder("XDG_DATA_HOME", home / ".local/share") / "bash-completion/completions/identity"
    if shell == "zsh":
        return home / ".zfunc/_identity"
    return xdg_folder("XDG_CONFIG_HOME", home / ".config") / "fish/completions/identity.fish"
