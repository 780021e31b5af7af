"""An installation brought to the tables of this version by an operator who has a backup.

On SQLite it is done to a copy first, which is looked at as a backup is; only then to the installation. A run that was killed leaves some
databases brought up and others not, and the next run goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from identity_core.backup.manifest import BackupManifest
from identity_core.backup.seal import OperatorKey
from identity_core.bootstrap.backup import (
    STAGING,
    End,
    copy_installation,
    end_of,
    examine_copy,
    settings_over,
    staged,
    verify_backup,
)
from identity_core.bootstrap.ports import SystemClock, load_plugins, store_beside
from identity_core.bootstrap.steps import bring_up
from identity_core.codec.times import printed
from identity_core.domain.activity import OPERATOR, Event, RequestContext
from identity_core.settings import Settings, StartError
from identity_core.use_cases.record import Record

ANOTHER = "take a new backup of this installation: `identity backup create`"


@dataclass(frozen=True, slots=True)
class BackupAtHand:
    """A backup, the key that it is sealed under, and how old it may be."""

    file: Path
    key: OperatorKey
    within: timedelta


async def upgrade(settings: Settings, steps: Sequence[str], backup: BackupAtHand | None) -> BackupManifest | None:
    """Makes ``steps``, which ``pending_steps`` has named. ``backup`` is opened and held against the installation; None where the operator
    wants none. Returns what is in it. Raises ``StartError``, ``OSError``; then the installation is as it was."""
    end = await _rehearsed(settings) if settings.database_url is None else None
    manifest = None if backup is None else await _examined(settings, backup, end)
    await bring_up(settings)
    await _record(settings, steps, manifest)
    return manifest


async def _rehearsed(settings: Settings) -> End:
    """How far a copy reaches that was brought up and looked at."""
    with staged(settings.data_dir, STAGING) as staging:
        copy_installation(settings.data_dir, staging)
        copy = settings_over(settings, staging)
        await bring_up(copy)
        await examine_copy(copy, deep=False)
        return await end_of(copy)


async def _examined(settings: Settings, backup: BackupAtHand, end: End | None) -> BackupManifest:
    manifest, where = (await verify_backup(settings, backup.key, backup.file)).manifest, str(backup.file)
    if SystemClock().now() - manifest.created_at > backup.within:
        hours = backup.within.total_seconds() / 3600
        what = f"the backup is of {printed(manifest.created_at)}, which is more than {hours:g} hours ago"
        raise StartError(what, where, f"{ANOTHER}; or allow an older one with --within-hours")
    if end is not None and manifest.key != end.key:
        what = "the backup is of another installation, or from before the key of its log was replaced"
        raise StartError(what, where, ANOTHER)
    if end is not None and manifest.remembered.checkpoint.size > end.remembered.checkpoint.size:
        what = "the backup reaches further than this installation, which was put back since"
        raise StartError(what, where, ANOTHER)
    return manifest


async def _record(settings: Settings, steps: Sequence[str], manifest: BackupManifest | None) -> None:
    plugins = load_plugins(settings, SystemClock())
    try:
        store = await store_beside(settings, plugins.custodian(settings.custodian.backend))
        try:
            made = None if manifest is None else printed(manifest.created_at)
            event = Event(details={"steps": list(steps), "backupOf": made})
            now = SystemClock().now()
            await Record(store.activity)(RequestContext("upgradeInstallation", OPERATOR), event, now, durable=True)
        finally:
            await store.close()
    finally:
        await plugins.close()
