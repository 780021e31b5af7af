"""``identity upgrade``: bring the databases of an installation to the tables of the installed version."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from identity_commands.options import FILE_THERE, refuse_absent
from identity_commands.terminal import working

from identity_codec.times import printed
from identity_core import __version__, build
from identity_core.cli.options import Number, of_installation, shown_database
from identity_core.cli.output import Command, misused, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.extension.choice import BY_UPGRADE
from identity_core.settings import Settings
from identity_operations.commands.backup import key_options, operator_key
from identity_operations.commands.extensions import chosen_extensions


@click.group(name="upgrade", cls=OpenGroup)
def command() -> None:
    """Migrate the databases of an installation to the installed version.

    Steps only add, so running processes of the previous version continue to work. They cannot be started again.
    Migrate the databases first, then restart the replicas one after the other, with the new version.
    """


@command.command(name="check", cls=Command)
@click.option("--exit-code", is_flag=True, help="Exit with 3 if migrations are missing.")
@of_installation
def check(settings: Settings, exit_code: bool) -> None:
    """List the missing migrations. Nothing is changed.

    The exit code is 0, or with --exit-code 3 if migrations are missing. It is 1 if a newer version has written the
    databases.
    """
    refuse_absent(settings)
    from identity_transparency.read_only import pending_steps

    pending = asyncio.run(pending_steps(settings))
    reasons = chosen_extensions(settings).reasons
    kept = [name for name, reason in reasons.items() if reason == BY_UPGRADE]
    installed = {"version": __version__, "build": build(), "database": shown_database(settings)}
    show({**installed, "pending": pending, "keptExtensions": kept}, text=_pending)
    if exit_code and pending:
        raise SystemExit(3)


def _pending(body: dict[str, Any]) -> str:
    state = "of an older version than" if body["pending"] else "up to date with version"
    lines = [f"{body['database']}: {state} {body['version']}", *body["pending"]]
    kept = [f"{name} stays on; turn it off: identity extensions disable {name}" for name in body["keptExtensions"]]
    return "\n".join(lines + kept)


@command.command(name="apply", cls=Command)
@click.option("--backup", type=FILE_THERE, help="File that `identity backup create` wrote of this installation.")
@key_options
@click.option("--backup-url", help="URL of a database into which a backup of the PostgreSQL server was restored.")
@click.option("--within-hours", type=Number(min=0.01), default=24.0, help="Maximum age of the backup, in hours.")
@click.option("--yes", is_flag=True, help="Continue without a backup. The upgrade cannot be undone.")
@of_installation
def apply(
    settings: Settings,
    backup: Path | None,
    key_file: Path | None,
    passphrase_file: Path | None,
    backup_url: str | None,
    within_hours: float,
    yes: bool,
) -> None:
    """Apply the missing migrations. The service may run meanwhile.

    The backup is opened as `identity backup verify` does, and the migrations run on a copy first. Run the command
    again if it was killed. Two cannot run at once.

    PostgreSQL is backed up by its own tools. Restore the backup into a separate database and name it with
    --backup-url. It must be of this installation and lack nothing older than --within-hours. The migrations run on
    it first; you can drop it afterwards.
    """
    refuse_absent(settings)
    if settings.database_url is None and backup_url is not None:
        misused("this installation is on SQLite files", "give --backup FILE, which `identity backup create` has made")
    if settings.database_url is not None and backup is not None:
        misused("a server has no sealed backup", "put a backup of it into another database: --backup-url URL")
    if [backup, backup_url, yes or None].count(None) != 2:
        name = "--backup FILE" if settings.database_url is None else "--backup-url URL"
        misused("an upgrade wants a backup, or your word that none is wanted", f"give {name}, or --yes, and not both")
    from identity_transparency.read_only import pending_steps

    from identity_operations.upgrade.apply import BackupAtHand, RestoredCopy, upgrade

    within, of, made = timedelta(hours=within_hours), None, asyncio.run(pending_steps(settings))
    if made:
        at_hand: BackupAtHand | RestoredCopy | None = None
        if backup is not None:
            at_hand = BackupAtHand(backup, operator_key(settings, key_file, passphrase_file, backup), within)
        elif backup_url is not None:
            at_hand = RestoredCopy(backup_url, within)
        with working("upgrade"):
            made, of = asyncio.run(upgrade(settings, at_hand))
    body = {
        "version": __version__,
        "database": shown_database(settings),
        "applied": made,
        "backupOf": None if of is None else printed(of),
    }
    show(body, text=_applied)


def _applied(body: dict[str, Any]) -> str:
    if not body["applied"]:
        return f"{body['database']}: up to date with version {body['version']}; nothing was to be done"
    return f"{body['database']}: brought to version {body['version']}; restart the service"
