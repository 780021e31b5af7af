"""``identity use``: choose the profile of later commands."""

from __future__ import annotations

import click

from identity_commands.profiles import KINDS, Profiles, changed_profiles, read_profiles, require_name
from identity_commands.terminal import ids_option, show_table
from identity_core.cli.output import Command


@click.command(name="use", cls=Command)
@click.argument("name", required=False, callback=require_name)
@ids_option
def command(name: str | None) -> None:
    """Use the profile NAME from now on. Without NAME, list the profiles. `identity login` creates them."""
    if name is None:
        kept = read_profiles()
    else:
        with changed_profiles() as kept:
            kept.find(name)
            kept.use = name
    show_table(
        [
            {"profile": each, "url": one.url, "credential": one.credential, "inUse": each == kept.use}
            for each, one in sorted(kept.profiles.items())
        ],
        text=lambda _: _text(kept),
        columns={
            "IN USE": lambda row: "yes" if row["inUse"] else "",
            "PROFILE": "{profile}",
            "URL": "{url}",
            "CREDENTIAL": lambda row: KINDS[row["credential"]],
        },
    )


def _text(kept: Profiles) -> str:
    rows = [
        f"{'*' if name == kept.use else ' '} {name}  {one.url}  {KINDS[one.credential]}"
        for name, one in sorted(kept.profiles.items())
    ]
    return "\n".join(rows) or "none"
