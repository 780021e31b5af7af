"""``identity logout``: delete a profile and its credential from this machine."""

from __future__ import annotations

import click

from identity_commands.profiles import changed_profiles, require_name
from identity_core.cli.output import Command, misused, show

STILL = "the credential itself is still good: `identity keys revoke` ends an API key, beside the service"


@click.command(name="logout", cls=Command)
@click.argument("name", required=False, callback=require_name)
def command(name: str | None) -> None:
    """Delete the profile NAME (default: the current one) and its credential. The credential stays valid at the
    service.
    """
    with changed_profiles() as kept:
        gone = name or kept.use
        if gone is None:
            misused("no profile is in use", "name one: `identity use` lists them")
        profile = kept.find(gone)
        del kept.profiles[gone]
        kept.use = None if kept.use == gone else kept.use
    still = "" if profile.credential is None else f"\n{STILL}"
    show(
        {"profile": gone, "url": profile.url, "credential": profile.credential}, text=f"{{profile}} is forgotten{still}"
    )
