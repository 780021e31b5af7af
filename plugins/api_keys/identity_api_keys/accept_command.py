"""``identity keys accept``: accept the key store in its current state, after an older one was restored."""

from __future__ import annotations

import click
from identity_commands.terminal import agreed

from identity_api_keys.commands import run_on_keys
from identity_core.cli.options import of_installation
from identity_core.cli.output import Command, fail, show
from identity_core.settings import Settings


@click.command(name="accept", cls=Command)
@of_installation
@click.option("--yes", is_flag=True, help="Skip the confirmation.")
def command(settings: Settings, yes: bool) -> None:
    """Accept the present key store, after an older one was restored on purpose.

    Keys that were revoked after that backup are valid again. Revoke them again.
    """
    faults = run_on_keys(settings, lambda opened: opened.keys.faults())
    for fault in faults:
        click.echo(fault, err=True)
    if faults:
        if not agreed(yes, "Take these keys as they are?"):
            fail("nothing was changed", str(settings.data_dir), "say --yes to take the keys as they are")
        run_on_keys(settings, lambda opened: opened.keys.accept(opened.record))
    text = f"{len(faults)} accepted" if faults else "every key is as this service left it"
    show({"accepted": [*faults]}, text=lambda _: text)
