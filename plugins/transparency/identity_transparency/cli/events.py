"""``identity events``: the public feed of what happened to DIDs."""

from __future__ import annotations

import click
from identity_commands.remote import add_command, page

from identity_core.cli.options import Whole
from identity_core.cli.plugin_commands import OpenGroup


@click.group(name="events", cls=OpenGroup)
def command() -> None:
    """The public feed: which DID changed when, in the order of the ledger."""


add_command(
    command,
    "list",
    "listEvents",
    "Print events of the ledger, oldest first; the number before each is what --after takes.",
    click.option("--after", type=Whole(min=0), default=0, show_default=True, help="Only those behind this number."),
    click.option("--limit", type=Whole(1, 1000), default=100, show_default=True, help="The most items."),
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
