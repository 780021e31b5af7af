"""The command ``identity challenge``: make a verifier's challenge, which binds a proof to it and to the time."""

from __future__ import annotations

import click

from identity_commands.remote import add_command, named
from identity_commands.terminal import ids_option
from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="challenge", cls=OpenGroup)
def command() -> None:
    """Create verifier challenges. A proof for a challenge counts once, for the verifier that created it."""


add_command(
    command,
    "create",
    "createVerifierChallenge",
    "Print a challenge for the holder of whom you request a proof.",
    click.option("--domain", required=True, help="DID or origin of the verifier, such as https://shop.example."),
    ids_option,
    body=named,
    text="{challenge}",
    whose="the verifier",
)
