"""The command ``identity plugins new``: create the first version of a plugin, as its own distribution with passing tests.

The template is ``plugin_templates``; copier renders it and is an extra of this distribution. An existing plugin is never updated,
because it belongs to its author.
"""

from __future__ import annotations

import dataclasses
import re
import shlex
from importlib import metadata
from pathlib import Path
from typing import Final

import click

from identity_core.cli.output import Command, show
from identity_core.files import install_command
from identity_core.settings import StartError

KINDS: Final = {
    "did-method": "did",
    "ledger": "ledger",
    "prover": "prover",
    "key-store": "keys",
    "custodian": "custodian",
    "securing": "securing",
    "panel": "panel",
    "extension": "",
}
"""The kinds of plugins, each with the word for it in the name of a distribution; that of an extension is its name alone."""

MOST_CHARACTERS: Final = 32
_NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", re.ASCII)
_METHOD: Final = re.compile(r"[a-z][a-z0-9]*", re.ASCII)


class CannotMake(StartError):
    """A plugin that was not created, with the fault, its place and the remedy."""


def new_plugin(kind: str, name: str, into: Path) -> Path:
    """Create the distribution ``identity-<kind>-<name>`` in a new folder of this name below ``into``. Return the folder.

    ``kind`` is a key of ``KINDS``, ``name`` the name in settings. Raises ``CannotMake``: nothing was written then.
    """
    _check_name(kind, name)
    distribution = "-".join(filter(None, ("identity", KINDS[kind], name)))
    folder = into / distribution
    if folder.exists():
        raise CannotMake(f"{distribution} is there already", str(folder), "choose another name or another --into")
    _refuse_installed(distribution)
    try:
        from copier import run_copy
    except ImportError as error:
        what = "copier is not installed, and the template is written in it"
        raise CannotMake(what, "identity plugins new", install_command("identity-service[template]")) from error
    answers = {
        "kind": kind,
        "name": name,
        "distribution": distribution,
        "module": distribution.replace("-", "_"),
        "title": "".join(word.capitalize() for word in name.split("-")),
    }
    template = Path(__file__).parent / "plugin_templates"
    try:
        run_copy(str(template), folder, data=answers, defaults=True, quiet=True)
    except OSError as error:
        raise CannotMake(f"cannot write: {error.strerror}", str(folder), "choose another --into") from error
    return folder


def _check_name(kind: str, name: str) -> None:
    from identity_core.cli import main
    from identity_core.extension.choice import RESERVED
    from identity_core.settings.tree import Plugins

    # A method name has no hyphen (DID Core §3.1), and tables begin with the name of an extension.
    form = _METHOD if kind in ("did-method", "extension") else _NAME
    if len(name) > MOST_CHARACTERS or form.fullmatch(name) is None:
        hyphens = "" if form is _METHOD else " and single hyphens"
        what = f"a name is at most {MOST_CHARACTERS} lower-case letters, digits{hyphens}, a letter first"
        raise CannotMake(what, name[:64], "choose another name")
    if name in {field.name for field in dataclasses.fields(Plugins)}:
        raise CannotMake(f"[plugins] {name} is a setting of the service itself", name, "choose another name")
    if kind == "extension" and (name in RESERVED or name in main.list_commands(click.Context(main))):
        raise CannotMake(f"{name} is a command of the service, or its tables begin so", name, "choose another name")


def _refuse_installed(distribution: str) -> None:
    """Refuse a name that an installed provider of this kind has, because two of one name stop every start."""
    try:
        version = metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return
    raise CannotMake(f"{distribution} {version} is installed already", distribution, "choose another name")


@click.command(name="new", cls=Command)
@click.option("--kind", type=click.Choice(list(KINDS)), required=True, help="Kind of the plugin.")
@click.option(
    "--into",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path(),
    help="Folder in which the plugin's folder is created.",
)
@click.argument("name")
def command(kind: str, into: Path, name: str) -> None:
    """Create a working plugin as a template for your own. NAME is its name in the settings, such as vault."""
    folder = new_plugin(kind, name, into)
    install = f"pip install -e {shlex.quote(f'{folder}[test]')}"
    commands = [install, f"python -m pytest {shlex.quote(str(folder))}", "identity plugins list"]
    lines = [f"Made {folder}. Its README says what to change. Now:", *commands]
    show({"folder": str(folder), "next": commands}, text=lambda _: "\n  ".join(lines))
