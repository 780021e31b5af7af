"""``identity events``: the public feed of what happened to DIDs."""

from __future__ import annotations

import click
from identity_commands.remote import add_command, page
from identity_commands.terminal import ids_option

from identity_core.cli.options import Whole
from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="events", cls=OpenGroup)
def command() -> None:
    """Read the public feed of changes of DIDs, in the order of the ledger."""


add_command(
    command,
    "list",
    "listEvents",
    "List events of the ledger, oldest first. The number before each is a value of --after.",
    click.option("--after", type=Whole(min=0), default=0, help="Show only events with a greater number."),
    click.option("--limit", type=Whole(1, 1000), default=100, help="Maximum number of items."),
    ids_option,
    text=page("{sequence}  {timestamp}  {operation:<12}  {did}  version {versionId}"),
    columns={
        "NUMBER": "{sequence}",
        "TIME": "{timestamp}",
        "OPERATION": "{operation}",
        "DID": "{did}",
        "VERSION": "{versionId}",
    },
    anonymous=True,
)
