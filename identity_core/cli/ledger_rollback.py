"""``identity ledger accept-rollback``: goes on from a backup that was put back on purpose, and says what that loses."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import click

from identity_core.cli.options import (
    config_option,
    configured,
    data_dir_option,
    database_url_option,
    refuse_absent,
)
from identity_core.cli.output import as_json, fail, show

if TYPE_CHECKING:
    from identity_core.bootstrap.rollback import Rollback


@click.command(name="accept-rollback")
@config_option
@data_dir_option
@database_url_option
@click.option("--yes", is_flag=True, help="Accept the loss without being asked.")
@as_json
def accept_rollback(
    config: Path | None, data_dir: Path | None, database_url: str | None, yes: bool, json_output: bool
) -> None:
    """Go on from databases that are older than they were. Stop the service first.

    What a backup does not have is lost, and this says how much. DIDs that were changed or deactivated since are again what they were;
    revoked keys, credentials and delegations are valid again; used tokens can be used again. Whoever kept a later checkpoint
    of the log sees a fork.
    """
    settings = configured(config, {"data_dir": data_dir, "database_url": database_url})
    refuse_absent(settings, "name the installation with --data-dir")
    from identity_core.bootstrap.rollback import accept_rollback as accept

    accepted = True

    def agreed(found: Rollback) -> bool:
        nonlocal accepted
        click.echo(_told(found), err=True)
        accepted = yes or (not json_output and click.confirm("Go on from what is there?", err=True))
        return accepted

    found = asyncio.run(accept(settings, agreed))
    if not accepted:
        fail("nothing was changed", str(settings.data_dir), "say --yes to go on from the databases as they are")
    body = {"accepted": True, **dataclasses.asdict(found)}
    show(body, json_output=json_output, text=lambda _: "Accepted: the checkpoint of now is the one that is remembered.")


def _told(found: Rollback) -> str:
    if not found.reason:
        return "The databases are those that are remembered; nothing is lost."
    entries, lines = found.known_entries - found.entries, found.known_audit_lines - found.audit_lines
    return (
        f"{found.reason}\n"
        f"Lost: {entries} ledger entries (there are {found.entries}), {lines} lines of the audit log (there are {found.audit_lines}),"
        " and whatever else was written since."
    )
