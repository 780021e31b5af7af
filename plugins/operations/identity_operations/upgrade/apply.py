"""Upgrade of an installation to the tables of this version by an operator with a backup.

First a copy is upgraded and examined like a backup, and only then the installation. On SQLite the copy is made here. On PostgreSQL
it is the database into which the operator restored a backup; its missing lines of the audit log show its age. A killed run leaves
some databases upgraded, and the next run continues. Only one run is active at a time.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
from identity_commands.beside import store_beside
from identity_transparency.read_only import pending_steps
from msgspec import Struct

from identity_codec.times import parse, printed
from identity_codec.values import replace
from identity_core.bootstrap.ports import SystemClock, convert_storage_faults
from identity_core.database import DatabaseError, Transaction, look_at
from identity_core.database.files import FileLock
from identity_core.domain.activity import OPERATOR, Event, RequestContext
from identity_core.settings import Settings, StartError
from identity_core.use_cases.record import Record
from identity_operations.backup.create import (
    OBSTACLES,
    STAGING,
    End,
    copy_installation,
    end_of,
    examine_copy,
    settings_over,
    staged,
    verify_backup,
)
from identity_operations.backup.manifest import BackupManifest
from identity_operations.backup.restore import Known, verify_server
from identity_operations.backup.seal import OperatorKey
from identity_operations.examination.looking import read_database
from identity_operations.upgrade.steps import bring_up

ANOTHER = "take a new backup of this installation: `identity backup create`"
_WHERE = "--backup-url"
_WHICH = "SELECT oid, pg_postmaster_start_time()::text FROM pg_database WHERE datname = current_database()"
_TAKE_TURN = "SELECT pg_try_advisory_lock(hashtext('identity upgrade'))"
_LINE = "SELECT sequence, line, link FROM audit_lines"
_PUT_BACK = "put a new backup of this installation into an empty database (createdb, pg_dump, pg_restore) and name that"


class AuditPlace(Struct, frozen=True):
    """A line of the audit log: its number, its link and its time."""

    sequence: int
    link: bytes
    at: datetime


def audit_place(transaction: Transaction, sequence: int | None) -> AuditPlace | None:
    """Return the line ``sequence``, or the last one; None if there is none. Its table is the same in every released version."""
    where = "ORDER BY sequence DESC LIMIT 1" if sequence is None else "WHERE sequence = :sequence"
    row = transaction.execute(f"{_LINE} {where}", {} if sequence is None else {"sequence": sequence}).fetchone()
    return row and AuditPlace(row[0], bytes(row[2]), parse(orjson.loads(bytes(row[1]))["at"]).astimezone(UTC))


class BackupAtHand(Struct, frozen=True):
    """A backup, the key under which it is sealed, and its greatest allowed age."""

    file: Path
    key: OperatorKey
    within: timedelta


class RestoredCopy(Struct, frozen=True):
    """The URL of a database with a restored backup of the server, and the greatest allowed age of a change that it lacks."""

    url: str
    within: timedelta


async def upgrade(
    settings: Settings, backup: BackupAtHand | RestoredCopy | None
) -> tuple[tuple[str, ...], datetime | None]:
    """Run the missing migrations. Return them, and the time of the backup.

    ``backup`` is opened and compared with the installation; None if the operator wants none. Raises ``StartError``: also while
    another upgrade is active. Raises ``OSError``. After an error the installation is unchanged.
    """
    with _alone(settings):
        # Another may have made them meanwhile.
        steps, of = await pending_steps(settings), None
        if not steps:
            return (), None
        if isinstance(backup, RestoredCopy):
            of = await _tried_on(settings, backup)
        elif settings.database_url is None:
            end = await _rehearsed(settings)
            of = None if backup is None else parse((await _examined(settings, backup, end)).created_at)
        await bring_up(settings)
        await _record(settings, steps, of)
        return steps, of


@contextlib.contextmanager
def _alone(settings: Settings) -> Iterator[None]:
    """Raise ``StartError`` while another upgrade of the installation is active. The lock ends with its process."""
    with contextlib.ExitStack() as stack:
        if settings.database_url is None:
            lock = stack.enter_context(contextlib.closing(FileLock(settings.data_dir / "upgrade.lock")))
            is_ours, where = lock.try_acquire(), str(settings.data_dir)
        else:
            with convert_storage_faults(settings):
                look = look_at(settings.database_url, settings.data_dir)
                stack.callback(look.end)
                (is_ours,) = look.read_now(lambda asked: asked.execute(_TAKE_TURN).fetchone())
            where = "the database of database_url"
        if not is_ours:
            what = "another `identity upgrade apply` is at work"
            raise StartError(what, where, "let it end, then look with `identity upgrade check`")
        yield


async def _rehearsed(settings: Settings) -> End:
    """Return the end of a copy that was upgraded and examined."""
    with staged(settings.data_dir, STAGING) as staging:
        copy_installation(settings.data_dir, staging)
        copy = settings_over(settings, staging)
        await bring_up(copy)
        await examine_copy(copy, deep=False)
        return await end_of(copy)


async def _examined(settings: Settings, backup: BackupAtHand, end: End) -> BackupManifest:
    manifest, where = (await verify_backup(settings, backup.key, backup.file)).manifest, str(backup.file)
    if SystemClock().now() - parse(manifest.created_at) > backup.within:
        hours = backup.within.total_seconds() / 3600
        what = f"the backup is of {manifest.created_at}, which is more than {hours:g} hours ago"
        raise StartError(what, where, f"{ANOTHER}; or allow an older one with --within-hours")
    if manifest.key != end.key:
        what = "the backup is of another installation, or from before the key of its log was replaced"
        raise StartError(what, where, ANOTHER)
    if manifest.remembered.checkpoint.size > end.remembered.checkpoint.size:
        what = "the backup reaches further than this installation, which was put back since"
        raise StartError(what, where, ANOTHER)
    return manifest


async def _tried_on(settings: Settings, copy: RestoredCopy) -> datetime:
    """Run the migrations on a copy of this installation that lacks nothing old, and examine it. Return the time of its newest audit
    line."""
    over = replace(settings, database_url=copy.url)
    newest = _held_against(settings, over, copy.within)
    try:
        await bring_up(over)
        found = await verify_server(over, Known())
    except StartError as error:
        # Its place would name the installation, which is well.
        raise StartError(f"the backup that was put back is of no use: {error.what}", _WHERE, _PUT_BACK) from error
    for one in found.findings:
        if one.kind in OBSTACLES:
            what = f"the backup that was put back is damaged: {one.where}: {one.says}"
            raise StartError(what, _WHERE, "see `identity backup verify --database-url`, with the URL of the copy")
    return newest


def _held_against(settings: Settings, over: Settings, within: timedelta) -> datetime:
    """Return the time of the newest line in the audit log of the copy ``over``, which must be a part of the installation's. The
    first line that it lacks must not be older than ``within``. Neither database is changed. Raises ``StartError``."""
    there, newest, _ = _looked(over, None, _WHERE)
    if newest is None:
        raise StartError("there is no installation in the copy: its audit log is empty", _WHERE, _PUT_BACK)
    here, same, missing = _looked(settings, newest.sequence, "the database of database_url")
    if here == there:
        raise StartError(
            "the copy is the installation itself", _WHERE, "put a backup into another database, and name that"
        )
    if same is None:
        what = "the copy reaches further than this installation, which was put back since, or is of another one"
        raise StartError(what, _WHERE, _PUT_BACK)
    if same.link != newest.link:
        raise StartError("the copy is of another installation: the two audit logs differ", _WHERE, _PUT_BACK)
    if missing is not None and SystemClock().now() - missing.at > within:
        hours = within.total_seconds() / 3600
        what = f"the copy lacks what was done at {printed(missing.at)}, which is more than {hours:g} hours ago"
        raise StartError(what, _WHERE, f"{_PUT_BACK}; or allow an older one with --within-hours")
    return newest.at


def _looked(
    settings: Settings, sequence: int | None, where: str
) -> tuple[tuple[object, ...], AuditPlace | None, AuditPlace | None]:
    """Return the identity of the database and of its server's run, the line ``sequence`` of its audit log (None: its last), and the
    line after it."""

    def read(transaction: Transaction) -> tuple[tuple[object, ...], AuditPlace | None, AuditPlace | None]:
        row = transaction.execute(_WHICH).fetchone()
        place = audit_place(transaction, sequence)
        return tuple(row), place, None if place is None else audit_place(transaction, place.sequence + 1)

    try:
        return read_database(settings.database_url, settings.data_dir, read)
    except DatabaseError as error:
        raise StartError(f"it cannot be looked at: {error.reason}", where, "see `identity doctor`") from error
    except (ValueError, KeyError, TypeError) as error:
        raise StartError("a line of its audit log cannot be read", where, "see `identity fsck`") from error


async def _record(settings: Settings, steps: Sequence[str], of: datetime | None) -> None:
    async with store_beside(settings) as (_, _, store):
        event = Event(details={"steps": list(steps), "backupOf": None if of is None else printed(of)})
        now = SystemClock().now()
        await Record(store.activity)(RequestContext("upgradeInstallation", OPERATOR), event, now, durable=True)
