"""``identity backup``: create, verify and restore a backup of an installation in one sealed file, while the service runs.

A database server is backed up by its own tools. `create` then prints how, and makes no file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from identity_commands.log_policy import read_policy
from identity_commands.options import FILE_THERE, all_of, refuse_absent
from identity_commands.secret_input import read_private
from identity_commands.terminal import progress
from msgspec import structs

from identity_core.cli.options import FILE, of_installation, shown_database
from identity_core.cli.output import Command, fail, failing, misused, show
from identity_core.cli.plugin_commands import OpenGroup
from identity_core.settings import Settings
from identity_operations.commands.backup_server import (
    described_end,
    finding_lines,
    is_of_postgresql,
    say_how,
    verify_server,
)
from identity_tlog.note import MAX_NOTE, Checkpoint, Note
from identity_tlog.policy import label

if TYPE_CHECKING:
    from identity_operations.backup.create import LookedAt
    from identity_operations.backup.manifest import BackupManifest
    from identity_operations.backup.seal import OperatorKey

FETCH_SECONDS = 20.0
F = TypeVar("F", bound=Callable[..., Any])

key_options: Callable[[Any], Any] = all_of(
    click.option(
        "--key-file",
        type=FILE,
        help="File with at least 32 random bytes (`head -c 32 /dev/urandom`). Store it apart from the data and the backups.",
    ),
    click.option("--passphrase-file", type=FILE, help="File with a passphrase on one line, in place of --key-file."),
)


@click.group(name="backup", cls=OpenGroup)
def command() -> None:
    """Back up a running installation; verify and restore a backup."""


def operator_key(settings: Settings, key_file: Path | None, passphrase_file: Path | None, backup: Path) -> OperatorKey:
    """Return the key of ``backup``, by the options ``key_options``; anything else ends the command."""
    from identity_operations.backup.seal import OperatorKey

    place = key_file or passphrase_file
    if place is None or (key_file is not None and passphrase_file is not None):
        misused("a backup is sealed under one key", "give --key-file or --passphrase-file, and not both")
    secret, is_passphrase = read_private(place, "key of backups"), passphrase_file is not None
    real = place.resolve()
    if real.parent == backup.resolve().parent or real.is_relative_to(settings.data_dir.resolve()):
        what = "the key lies beside what it protects: anyone who takes the one has the other"
        fail(what, str(place), "keep it apart from data and backups, and a copy of it in a safe", status=2)
    secret = secret.rstrip(b"\r\n") if is_passphrase else secret
    remedy = "make it with `head -c 32 /dev/urandom`"
    with failing(ValueError, str(place), remedy, what="this is no such key", status=2):
        return OperatorKey(secret, is_passphrase)


@command.command(name="create", cls=Command)
@click.argument("file", type=FILE)
@key_options
@of_installation
def create(settings: Settings, file: Path, key_file: Path | None, passphrase_file: Path | None) -> None:
    """Write a sealed backup of the installation to FILE. The service may run meanwhile.

    It contains ledger, index, credentials, audit log, API keys, the custodian with its master key file, and the
    name of the log. It does not contain the settings, a custodian's passphrase, or keys in hardware. It contains
    everything that the service acknowledged before the command started.
    """
    if settings.database_url is not None:
        say_how(settings)
    refuse_absent(settings)
    key = operator_key(settings, key_file, passphrase_file, file)
    from identity_operations.backup.create import create_backup

    data = sum(path.stat().st_size for path in settings.data_dir.glob("*.sqlite"))
    with progress(range(data), "backup") as bar:
        made = asyncio.run(create_backup(settings, key, file, advance=bar.update))
    _show(file, made)


checkpoint_option: Callable[[Any], Any] = click.option(
    "--checkpoint",
    "checkpoints",
    multiple=True,
    metavar="FILE|URL",
    help="Newest known checkpoint of the log: a file, or the URL at which a witness or a monitor serves it.",
)


@command.command(name="verify", cls=Command)
@click.argument("file", type=click.Path(path_type=Path, exists=True), required=False)
@key_options
@checkpoint_option
@of_installation
def verify(
    settings: Settings,
    file: Path | None,
    key_file: Path | None,
    passphrase_file: Path | None,
    checkpoints: Sequence[str],
) -> None:
    """Verify a backup as a restore would: its seal, each file, its keys, and that its databases agree.

    Nothing is changed. The backup is unpacked into a temporary directory (TMPDIR). Give the settings of the
    installation (--config), and the custodian's passphrase if it has one.

    Without FILE, and with the --database-url of a server into which a copy by pg_dump or pg_basebackup was
    restored, that database is verified. If FILE is such a copy, the command prints how to restore it.

    The exit code is 1 for a fault. Entries of --checkpoint that a copy lacks are counted and are no fault.
    """
    if file is None or is_of_postgresql(file):
        verify_server(settings, file, [(place, _checkpoint(place)) for place in checkpoints])
        return
    if checkpoints:
        misused("--checkpoint is for a restored server", "`identity backup restore` takes it for a sealed file")
    key = operator_key(settings, key_file, passphrase_file, file)
    from identity_operations.backup.create import verify_backup

    with progress(range(file.stat().st_size), "backup") as bar:
        made = asyncio.run(verify_backup(settings, key, file, advance=bar.update))
    _show(file, made)


@command.command(name="restore", cls=Command)
@click.argument("file", type=FILE_THERE)
@key_options
@checkpoint_option
@click.option("--policy", type=FILE_THERE, help="tlog-policy file, whose witnesses report their newest checkpoint.")
@click.option("--new-origin", metavar="NAME", help="Name under which the log continues from the end of the backup.")
@click.option("--nothing-newer", is_flag=True, help="Confirm that no checkpoint newer than the backup was published.")
@click.option("--as-is", is_flag=True, help="Keep the databases as they are, for the version that wrote them.")
@of_installation
def restore(
    settings: Settings,
    file: Path,
    key_file: Path | None,
    passphrase_file: Path | None,
    checkpoints: Sequence[str],
    policy: Path | None,
    new_origin: str | None,
    nothing_newer: bool,
    as_is: bool,
) -> None:
    """Restore a backup completely, or not at all, into a data directory that is empty or missing.

    A restored log ends earlier than the log at the time of the loss. If a newer checkpoint is known, the service
    starts only after the log has reached it or continues under another name. Otherwise one name would have two
    histories. Lost entries are reported.

    With --policy the witnesses report their newest checkpoints. Enough of them must answer that the others cannot
    have cosigned a newer one.

    The databases are upgraded to this version, unless --as-is is given.
    """
    if as_is and new_origin:
        misused("--new-origin changes the log, and --as-is changes nothing", "give one of the two")
    if settings.database_url is not None:
        what = "a database server is restored by its own tools"
        fail(what, shown_database(settings), "then look at it with `identity doctor`, and with `identity fsck --deep`")
    key = operator_key(settings, key_file, passphrase_file, file)
    from identity_operations.backup.restore import Known, restore_backup

    noted = [(place, _checkpoint(place)) for place in checkpoints]
    known = Known(noted, new_origin, nothing_newer, None if policy is None else read_policy(policy))
    with progress(range(file.stat().st_size), "backup") as bar:
        found = asyncio.run(restore_backup(settings, key, file, known, as_is=as_is, advance=bar.update))
    body = {
        **_described(found.manifest),
        "dataDirectory": str(settings.data_dir),
        "log": found.origin,
        "entries": found.entries,
        "entriesLost": found.known_entries - found.entries,
        "auditLines": found.audit_lines,
        "auditLinesLost": max(found.known_audit_lines - found.audit_lines, 0),
        "serves": found.serves,
        "asIs": as_is,
        "witnesses": {label(name): _size(note) for name, note in found.seen.cosigned.items()},
        "silentWitnesses": {label(name): why for name, why in found.seen.silent.items()},
    }
    show(body, text=_restored)


def _restored(body: dict[str, Any]) -> str:
    lines = [
        f"restored: {body['entries']} ledger entries of {body['log']} in {body['dataDirectory']}, as of {body['createdAt']}",
        f"lost: {body['entriesLost']} ledger entries and {body['auditLinesLost']} lines of the audit log are known to be newer than "
        "the backup; other records that were written after it are lost too",
        "tables: " + ("as in the backup" if body["asIs"] else "of this version; an earlier version needs --as-is"),
    ]
    for name, size in body["witnesses"].items():
        lines.append(f"witness {name}: " + ("nothing of this log" if size is None else f"has cosigned {size} entries"))
    lines += [f"witness {name} did not answer: {why}" for name, why in body["silentWitnesses"].items()]
    if not body["serves"]:
        lines.append(
            f"the service does not start: a checkpoint of {body['entries'] + body['entriesLost']} entries is known. "
            "Restore a newer backup, or continue with this one: `identity ledger accept-rollback`, with --new-origin NAME if readers "
            "may have a newer checkpoint"
        )
    return "\n".join(lines)


def _size(note: bytes | None) -> int | None:
    return None if note is None else Checkpoint.parse(Note.parse(note).text).size


def _checkpoint(place: str) -> bytes:
    """Return the bytes of a checkpoint in a file or at a URL. The restore verifies its origin."""
    if not place.startswith(("http://", "https://")):
        with Path(place).open("rb") as file:
            return file.read(MAX_NOTE + 1)
    import httpx

    from identity_client.session import Body, UnreadableAnswer, read_whole

    remedy = "name another witness, or a file"
    wrong = (httpx.HTTPError, httpx.InvalidURL, UnreadableAnswer)
    trusted, plain = httpx.create_ssl_context(), {"Accept-Encoding": "identity"}
    with (
        failing(wrong, place, remedy, what="the checkpoint cannot be fetched"),
        httpx.stream("GET", place, headers=plain, timeout=FETCH_SECONDS, trust_env=False, verify=trusted) as answer,
    ):
        return read_whole(Body(answer.raise_for_status(), MAX_NOTE))


def _described(manifest: BackupManifest) -> dict[str, Any]:
    return {
        "createdAt": manifest.created_at,
        "version": manifest.version,
        "schema": manifest.schema,
        **described_end(manifest.key, manifest.remembered),
        "files": {one.name: one.size for one in manifest.files},
    }


def _show(file: Path, made: LookedAt) -> None:
    findings = [structs.asdict(one) for one in made.findings]
    body = {"backup": str(file), "octets": file.stat().st_size, **_described(made.manifest), "findings": findings}
    show(body, text=_made_text)


def _made_text(body: dict[str, Any]) -> str:
    head = "{backup}: {octets} bytes, {entries} entries of {log}, {auditLines} lines of the audit log, made {createdAt}"
    return "\n".join([head.format_map(body), *finding_lines(body)])
