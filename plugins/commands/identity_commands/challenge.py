"""The command ``identity challenge``: make a verifier's challenge, which binds a proof to it and to the time."""

from __future__ import annotations

import click

from identity_commands.remote import add_command, named
from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="challenge", cls=OpenGroup)
def command() -> None:
    """Challenges of verifiers: a proof that answers one was made for it, and counts once."""


add_command(
    command,
    "create",
    "createVerifierChallenge",
    "Print a challenge for a holder who shall show you a proof.",
    click.option("--domain", required=True, help="Whom the proof is for, such as your origin."),
    body=named,
    text="{challenge}",
    whose="the verifier",
)
