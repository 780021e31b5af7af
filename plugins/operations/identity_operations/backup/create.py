"""Creation of a backup: an installation on SQLite files as one sealed file, made while the service runs, and the checks of that
file.

The record of an installation is in its SQLite files and in the master key of its custodian, if that is a file. Everything is copied
in its state at one moment (``snapshot.py``). The copy is examined before it is sealed (``fsck``). A checkpoint over its ledger is
signed, which shows a restore its end. Data of rate limits and other files in the data directory are left out.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from identity_records.audit import audit_of
from identity_transparency.domain.checkpoint_keys import CheckpointKeys
from identity_transparency.opening import checkpoint_file_of, checkpoint_keys
from identity_transparency.read_only import open_plugins, open_store, pending_steps
from identity_transparency.remembered import CheckpointFile, Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.checkpoint_keys import ReadCheckpointKeys
from identity_transparency.use_cases.project import CheckpointSigner, leaf_of
from msgspec import Struct

from identity_codec.structs import UNSET
from identity_codec.times import printed
from identity_codec.values import replace
from identity_core import __version__
from identity_core.bootstrap.ports import SystemClock
from identity_core.database import Transaction
from identity_core.database.files import FOLDER, FileLock
from identity_core.files import new_draft, settle
from identity_core.plugin.sockets import LEDGER
from identity_core.settings import Settings, StartError
from identity_operations.backup.archive import Advance, described, read_archive, write_archive
from identity_operations.backup.manifest import FORMAT, BackupManifest
from identity_operations.backup.seal import BackupInvalid, OperatorKey
from identity_operations.backup.snapshot import copy_at_one_moment
from identity_operations.examination.fsck import examine
from identity_operations.examination.looking import read_database
from identity_operations.examination.rows import Finding
from identity_operations.upgrade.steps import bring_up
from identity_tlog.note import VerifierKey
from identity_tlog.tree import leaf_hash

# What limits requests is of the moment.
NOT_KEPT: Final = frozenset({"limits.sqlite"})
STAGING: Final = ".backup-"
PAGE: Final = 256
# With these a start is refused, or what it serves is not what was written.
OBSTACLES: Final = frozenset({"file", "ledger", "log", "storage"})
NO_BACKUP = "this is not a backup that can be restored"


class LookedAt(Struct, frozen=True):
    """A verified backup: its manifest, and the faults of its content that do not prevent a start."""

    manifest: BackupManifest
    findings: Sequence[Finding]


@contextmanager
def refused(where: Path) -> Iterator[None]:
    """Raise ``StartError`` with the name of the backup, for a fault of it."""
    try:
        yield
    except BackupInvalid as error:
        fix = "take another backup, or the key that this one was sealed under; keep this one until then"
        raise StartError(f"{NO_BACKUP}: {error}", str(where), fix) from error


async def create_backup(
    settings: Settings, key: OperatorKey, target: Path, *, advance: Advance = lambda data: None
) -> LookedAt:
    """Write a backup to ``target``, which must not exist: whole or not at all. A service may run. Raises ``StartError``,
    ``DatabaseUnavailable``, ``OSError``."""
    _require_absent(target)
    with staged(settings.data_dir, STAGING) as staging:
        copy_installation(settings.data_dir, staging)
        copy = await _of_this_version(settings_over(settings, staging))
        findings = await examine_copy(copy, deep=False)
        end = await end_of(copy)
        manifest = BackupManifest(
            format=FORMAT,
            created_at=printed(SystemClock().now()),
            version=__version__,
            ledger=settings.ledger.backend,
            custodian=settings.custodian.backend,
            holders=settings.custodian.names[-1],
            schema=_schema_of(staging),
            verifier_key=str(end.key),
            checkpoint=end.remembered.note.decode(),
            audit_lines=end.remembered.audit_lines,
            audit_link=end.remembered.audit_link.hex(),
            files=tuple(described(path) for path in sorted(staging.iterdir()) if path.suffix in (".sqlite", ".key")),
        )
        with new_draft(target) as (draft, file):
            write_archive(file, key, manifest, staging, advance=advance)
            settle(file)
            draft.rename(target)
    return LookedAt(manifest, findings)


async def verify_backup(
    settings: Settings, key: OperatorKey, source: Path, *, advance: Advance = lambda data: None
) -> LookedAt:
    """Open a backup as a restore would, in a temporary directory that is removed at the end. Raises ``StartError``, ``OSError``."""
    with tempfile.TemporaryDirectory(prefix="identity-backup-") as folder:
        staging = Path(folder)
        manifest, _ = await unpack(settings, key, source, staging, advance=advance)
        findings = await examine_copy(settings_over(settings, staging), deep=True, remembered=manifest.remembered)
    return LookedAt(manifest, findings)


async def unpack(
    settings: Settings, key: OperatorKey, source: Path, staging: Path, *, advance: Advance
) -> tuple[BackupManifest, CheckpointKeys]:
    """Unpack a backup into the empty folder ``staging``. Return the result, and the keys of its log. The backup must be of the
    installation that the settings describe; its tables are brought to this version. Raises ``StartError``, ``OSError``."""
    with refused(source), source.open("rb") as file:
        manifest = read_archive(file, key, staging, advance=advance)
    made = {"ledger.backend": manifest.ledger, "custodian.backend": manifest.custodian}
    now = {"ledger.backend": settings.ledger.backend, "custodian.backend": settings.custodian.backend}
    if manifest.holders is not UNSET:
        # Over another keeper nothing would be proved with what credentials are bound to.
        made["custodian.holders"], now["custodian.holders"] = manifest.holders, settings.custodian.names[-1]
    for name, value in made.items():
        if now[name] != value:
            raise StartError(f"the backup was made with {name} = {value}", name, f'set {name} to "{value}"')
    copy = settings_over(settings, staging)
    if await pending_steps(copy):
        await bring_up(copy)
    end = await end_of(copy)
    if (end.key, end.remembered) != (manifest.key, manifest.remembered):
        what = f"{NO_BACKUP}: its databases are not those of its checkpoint"
        raise StartError(what, str(source), "take another backup")
    return manifest, end.keys


def settings_over(settings: Settings, staging: Path) -> Settings:
    """Return the settings for a copy of the installation, without the checkpoint that is stored apart."""
    return replace(settings, data_dir=staging, ledger=replace(settings.ledger, checkpoint_path=staging / "checkpoint"))


@contextmanager
def staged(parent: Path, prefix: str) -> Iterator[Path]:
    """Yield an empty directory in ``parent`` for its owner alone, removed at the end unless it was renamed. Remains of a killed
    command are removed, and two commands at once are refused. Raises ``StartError``, ``OSError``."""
    with closing(FileLock(parent, FOLDER)) as lock:
        if not lock.try_acquire():
            raise StartError("another backup or restore is at work here", str(parent), "wait for its end")
        for left in parent.glob(f"{prefix}*"):
            shutil.rmtree(left)
        try:
            staging = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        except OSError as error:
            fix = "make it writable; or copy the data directory to a writable place, and name that with --data-dir"
            raise StartError(f"a copy is made here first: {error.strerror}", str(parent), fix) from error
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)


async def _of_this_version(copy: Settings) -> Settings:
    """Return ``copy``. If its tables are of an older version, return a second copy in it with those of this version, so that the
    sealed one stays unchanged."""
    if not await pending_steps(copy):
        return copy
    newer = copy.data_dir / "of-this-version"
    shutil.copytree(copy.data_dir, newer)
    upgraded = settings_over(copy, newer)
    await bring_up(upgraded)
    return upgraded


def _require_absent(target: Path) -> None:
    if target.exists():
        fix = "name another: backups are not written over"
        raise StartError("there is a file of that name already", str(target), fix)


def copy_installation(data_dir: Path, staging: Path) -> None:
    """Copy the content of a backup, in its state at one moment, to ``staging``. Raises ``StartError``, ``DatabaseUnavailable``,
    ``OSError``."""
    databases = [path for path in sorted(data_dir.glob("*.sqlite")) if path.name not in NOT_KEPT]
    if not databases:
        fix = "name the one of the service with --data-dir"
        raise StartError("there is no installation to back up", str(data_dir), fix)
    copy_at_one_moment(databases, staging)
    for path in sorted(data_dir.glob("*.key")):
        shutil.copyfile(path, staging / path.name)
        (staging / path.name).chmod(0o600)


async def examine_copy(copy: Settings, *, deep: bool, remembered: Remembered | None = None) -> Sequence[Finding]:
    """Return the faults of a copy that do not prevent a start. The copy is compared with ``remembered``. Raises ``StartError``:
    when files or ledger are damaged."""
    if remembered is not None:
        CheckpointFile(checkpoint_file_of(copy)).replace(remembered)
    try:
        findings = (await examine(copy, deep=deep)).findings
    finally:
        checkpoint_file_of(copy).unlink(missing_ok=True)
    for one in findings:
        if one.kind in OBSTACLES:
            says = f"{one.where} is damaged: {one.says}" if one.kind == "file" else f"{one.where}: {one.says}"
            raise StartError(says, str(copy.data_dir), "see `identity fsck --deep`")
    return findings


def _schema_of(folder: Path) -> dict[str, int]:
    """Return the number of the last step of each table of migrations."""
    found: dict[str, int] = {}
    for path in sorted(folder.glob("*.sqlite")):
        found |= read_database(None, path, _last_steps)
    return found


def _last_steps(reading: Transaction) -> dict[str, int]:
    columns = reading.execute(_MIGRATIONS).fetchall()
    # The names are those that the database gave.
    last = 'SELECT max(CAST("{1}" AS INTEGER)) FROM "{0}"'
    return {name: reading.execute(last.format(name, column)).fetchone()[0] or 0 for name, column in columns}


# The first column is the number of the step, and in a table of Alembic's its revision.
_MIGRATIONS: Final = r"""
SELECT tables.name, columns.name FROM sqlite_master AS tables, pragma_table_info(tables.name) AS columns
WHERE tables.type = 'table' AND tables.name LIKE '%\_migrations' ESCAPE '\' AND columns.cid = 0
"""


class End(Struct, frozen=True):
    """The end of an installation's logs: ``remembered`` has the checkpoint over its whole ledger, signed by the current one of
    ``keys``."""

    keys: CheckpointKeys
    remembered: Remembered

    @property
    def key(self) -> VerifierKey:
        """Return the key in use."""
        return self.keys.present


async def end_of(copy: Settings) -> End:
    """Return the end of a copy's logs. Raises ``StartError``."""
    async with open_plugins(copy) as (plugins, look):
        ledger, custodian = plugins.ledger(copy.ledger.backend), plugins.custodian(copy.custodian.backend)
        async with open_store(copy, custodian) as store:
            tree = TransparencyTree(store.database)
            known = await tree.origin()
            if not known and await store.documents.is_empty():
                fix = "start it once (`identity serve`), and back it up then; keep what is in the directory until then"
                what = (
                    "this installation was never started: it has no log yet, and a restore could not tell how far it is"
                )
                raise StartError(what, "the databases", fix)
            origin = copy.ledger.origin or known
            if not origin:
                fix = "give the settings with which it runs (--config, IDENTITY_LEDGER_ORIGIN)"
                raise StartError("nothing says what the log is called", "ledger.origin", fix)
            read, frontier = ReadCheckpointKeys(custodian, ledger, tree, origin), await tree.frontier()
            if LEDGER.hook in look.blind:
                own = await tree.service_did()
                head = None if own is None else await store.documents.head(own)
                if own is not None and head is None:
                    raise StartError(
                        "the row of the service's own DID is of an earlier version: start the service once"
                    )
                keys = await checkpoint_keys(partial(read.indexed, None if head is None else head.state))
            else:
                while lines := await ledger.entries_after(frontier.size, PAGE):
                    frontier = frontier.appended(leaf_hash(leaf_of(line).encode()) for line in lines)
                keys = await checkpoint_keys(read)
            note = await CheckpointSigner(custodian, keys, SystemClock()).alone(frontier)
            return End(keys, Remembered(note, *await audit_of(store).last()))
