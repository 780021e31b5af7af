"""Backups of a database server, which its own tools make: the instructions, and ``identity backup verify`` of a restored copy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import click
from identity_transparency.remembered import Remembered
from msgspec import structs

from identity_core.cli.options import shown_database
from identity_core.cli.output import misused, show
from identity_core.settings import Settings
from identity_tlog.note import VerifierKey

CHECKED: Final = (
    "and checked as restored, in another database:\n"
    "  createdb restored && pg_restore --dbname=postgresql://…/restored identity.dump      or start a server on the base backup\n"
    "  identity backup verify --database-url postgresql://…/restored --data-dir …      the directory with the keys"
)


def say_how(settings: Settings) -> None:
    """End the command with exit code 1 and the instructions: no backup was made."""
    where = shown_database(settings)
    click.echo(
        f"{where}: no backup was made. A server is backed up by its own tools, at one moment for all tables:\n"
        '  pg_dump --format=custom --file=identity.dump "$DATABASE_URL"      or pg_basebackup and its WAL, for a newer end\n'
        f"  cp {settings.data_dir}/*.key …      the custodian's master key, if it has one, kept apart from the dump\n"
        f"{CHECKED}"
    )
    raise SystemExit(1)


def is_of_postgresql(place: Path) -> bool:
    """Return whether this is what pg_dump (custom or directory) or pg_basebackup has written."""
    if place.is_dir():
        return True
    with place.open("rb") as file:
        return file.read(5) == b"PGDMP"


def verify_server(settings: Settings, copy: Path | None, checkpoints: Sequence[tuple[str, bytes]]) -> None:
    """Verify the server that the settings name, or end the command with the instructions to restore ``copy`` to one.
    ``checkpoints`` are notes, each with its source."""
    if copy is not None:
        click.echo(f"{copy}: nothing was checked. A copy of PostgreSQL is put back by its own tools,\n{CHECKED}")
        raise SystemExit(1)
    if settings.database_url is None:
        misused("nothing to look at", "name a backup, or with --database-url a server into which a copy was put")
    from identity_operations.backup import restore

    found = asyncio.run(restore.verify_server(settings, restore.Known(checkpoints)))
    lost = found.known_entries - found.remembered.checkpoint.size
    body = {"backup": shown_database(settings), **described_end(found.key, found.remembered), "entriesLost": lost}
    body["findings"] = [structs.asdict(one) for one in found.findings]
    show(body, text=_server_text)
    if found.findings:
        raise SystemExit(1)


def described_end(key: VerifierKey, remembered: Remembered) -> dict[str, Any]:
    """Return the ends of a log and its audit log, as the commands show them."""
    checkpoint = remembered.checkpoint
    log = {"log": checkpoint.origin, "entries": checkpoint.size, "root": checkpoint.root.hex()}
    return {**log, "auditLines": remembered.audit_lines, "verifierKey": str(key)}


def finding_lines(body: dict[str, Any]) -> list[str]:
    """Return the lines about the findings in a backup, each with its remedy."""
    return [f"{one['kind']} {one['where']}: {one['says']}\n  do: {one['remedy']}" for one in body["findings"]]


def _server_text(body: dict[str, Any]) -> str:
    head = "{backup}: {entries} entries of {log}, {auditLines} lines of the audit log".format_map(body)
    lines = finding_lines(body)
    if body["entriesLost"]:
        lines.append(
            f"{body['entriesLost']} entries that were there are not in this copy: it cannot go on under this name"
        )
    return "\n".join([head, *lines])
