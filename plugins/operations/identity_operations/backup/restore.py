"""Restore of a backup into an empty data directory: completely, by one rename, or not at all.

A restore rolls back a log that must only grow. Its former end is known from a checkpoint: one that the operator gives, one that a
witness cosigned, or the one that this machine stored apart. If the backup is behind, that checkpoint is stored from then on. Every
start is then refused until the log reaches it, or continues under a new name.
"""

from __future__ import annotations

import os
import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

from identity_records.audit import audit_of
from identity_transparency.domain.checkpoint_keys import CheckpointKeys, SignedByAnother
from identity_transparency.opening import check_new_origin, check_of, checkpoint_file_of, load_remembered, log_beside
from identity_transparency.remembered import CheckpointFile, Remembered
from identity_transparency.tree import TransparencyTree
from identity_transparency.use_cases.project import TransparencyLog
from identity_transparency.witnesses import SeenByWitnesses, ask_witnesses
from msgspec import Struct

from identity_codec.strict_json import JsonValue
from identity_codec.values import replace
from identity_core.bootstrap.ports import SystemClock, convert_storage_faults
from identity_core.domain.activity import OPERATOR, Event, RequestContext
from identity_core.errors import StorageMismatch
from identity_core.files import sync_folder
from identity_core.settings import Settings, StartError
from identity_core.store import Store
from identity_core.use_cases.record import Record
from identity_operations.backup.archive import Advance, read_archive
from identity_operations.backup.create import end_of, examine_copy, refused, settings_over, staged, unpack
from identity_operations.backup.manifest import BackupManifest
from identity_operations.backup.seal import OperatorKey
from identity_operations.examination.fsck import examine
from identity_operations.examination.rows import Finding
from identity_tlog.note import Checkpoint, VerifierKey
from identity_tlog.policy import WitnessPolicy, label
from identity_tlog.tree import Malformed, Refuted


class Known(Struct, frozen=True):
    """The known ends of the log: ``checkpoints`` are signed notes, each with its origin; the witnesses of ``policy`` are queried
    for theirs.

    The log continues under the name ``new_origin``. ``is_newest``: the operator states that nothing newer than the backup was
    published.
    """

    checkpoints: Sequence[tuple[str, bytes]] = ()
    new_origin: str | None = None
    is_newest: bool = False
    policy: WitnessPolicy | None = None


class Restored(Struct, frozen=True):
    """The result of a restore.

    - ``entries``, ``audit_lines``: the restored numbers.
    - ``known_entries``, ``known_audit_lines``: the former numbers, as far as they are known.
    - ``serves``: the next start is not refused for missing entries.
    - ``seen``: the answers of the witnesses of a policy.
    """

    manifest: BackupManifest
    origin: str
    entries: int
    known_entries: int
    audit_lines: int
    known_audit_lines: int
    serves: bool
    seen: SeenByWitnesses


class VerifiedServer(Struct, frozen=True):
    """A restored database server: the ends of its log and its audit log, the known former end of the log, and the faults."""

    key: VerifierKey
    remembered: Remembered
    known_entries: int
    findings: Sequence[Finding]


async def verify_server(settings: Settings, known: Known) -> VerifiedServer:
    """Verify a database server with a restored copy, before its first start. The checkpoint that this machine stored, and
    ``known``, show the former end of the log. Raises ``StartError``."""
    kept = load_remembered(settings)
    with tempfile.TemporaryDirectory(prefix="identity-backup-") as folder:
        # The copy is older than what this machine remembers, and nothing is wrong with that yet.
        copy = replace(settings, ledger=replace(settings.ledger, checkpoint_path=Path(folder) / "checkpoint"))
        findings = (await examine(copy, deep=True)).findings
        end = await end_of(copy)
        notes = [one.checkpoint for one in _believed(end.keys, kept, known)]
        async with log_beside(copy) as (logged, store):
            await _require_one_history(logged, store, notes)
    entries = max([end.remembered.checkpoint.size, *(one.size for one in notes)])
    return VerifiedServer(end.key, end.remembered, entries, findings)


async def restore_backup(
    settings: Settings, key: OperatorKey, source: Path, known: Known, *, as_is: bool, advance: Advance
) -> Restored:
    """Put the backup into the data directory, which must be empty or absent. With ``as_is`` its files are the bytes of the backup,
    for the version that wrote them. Raises ``StartError``, ``OSError``; the directory is then unchanged."""
    data_dir = settings.data_dir.absolute()
    _require_empty(data_dir)
    kept = load_remembered(settings)
    if known.policy is None:
        _require_end(settings, kept, known)
    with staged(data_dir.parent, f".{data_dir.name}.restore-") as staging:
        manifest, keys = await unpack(settings, key, source, staging, advance=advance)
        seen = SeenByWitnesses() if known.policy is None else await ask_witnesses(known.policy, keys)
        noted = [(f"the witness {label(name)}", note) for name, note in seen.cosigned.items() if note is not None]
        known = replace(known, checkpoints=[*known.checkpoints, *noted])
        _require_end(settings, kept, known)
        copy = settings_over(settings, staging)
        await examine_copy(copy, deep=True, remembered=manifest.remembered)
        notes = _believed(keys, kept, known)
        with convert_storage_faults(copy):
            restored, remembered = await _gone_on(copy, manifest, notes, known.new_origin, seen)
        if as_is:
            for path in staging.iterdir():
                path.unlink()
            with refused(source), source.open("rb") as file:
                read_archive(file, key, staging, advance=lambda size: None)
            remembered = replace(manifest.remembered, note=remembered.note, is_published=remembered.is_published)
        _settle(staging)
        # Before the databases: a start between the two finds none that belong to it, and is refused.
        if remembered != kept:
            CheckpointFile(checkpoint_file_of(settings)).replace(remembered)
        try:
            staging.rename(data_dir)
        except OSError as error:
            what = f"the data directory cannot be put in place: {error.strerror}"
            fix = "name a directory that is not a mount point, such as one in it"
            raise StartError(what, str(data_dir), fix) from error
        sync_folder(data_dir.parent)
    return restored


def _require_empty(data_dir: Path) -> None:
    if data_dir.is_symlink() or (data_dir.exists() and not data_dir.is_dir()):
        raise StartError("the data directory is something else", str(data_dir), "name a directory with --data-dir")
    if data_dir.is_dir() and any(data_dir.iterdir()):
        moved = shlex.join(["mv", str(data_dir), f"{data_dir}.before"])
        fix = f"move it away, also if only a refused start made it: `{moved}`; nothing is written over"
        raise StartError("there is something in the data directory", str(data_dir), fix)
    if not data_dir.parent.is_dir():
        raise StartError("there is no such directory", str(data_dir.parent), "make it, or name another with --data-dir")


def _require_end(settings: Settings, kept: Remembered | None, known: Known) -> None:
    """Raise ``StartError`` if the former end of the log is unknown."""
    if kept is None and not (known.checkpoints or known.is_newest or known.new_origin):
        raise StartError(
            "nothing says how far the log was: this machine remembers no checkpoint of it",
            str(checkpoint_file_of(settings)),
            "give the newest checkpoint that a witness, an auditor or another copy has (--checkpoint FILE or URL, --policy FILE), name a "
            "new log (--new-origin), or say that nothing newer was given out (--nothing-newer)",
        )


_REPLACED = (
    "is signed by a key that the backup does not know: the key of checkpoints was replaced after the backup was made"
)
_LATER_BACKUP = (
    "restore a backup of after that; or give a checkpoint that the old key signed beside the new one, as it does for thirty days unless it "
    "was compromised; where there is neither, go on under a new name (--new-origin)"
)


def _believed(keys: CheckpointKeys, kept: Remembered | None, known: Known) -> list[Remembered]:
    """Return the known ends of this log, each signed by one of its keys. Raises ``StartError``."""
    found: list[Remembered] = []
    for place, note in known.checkpoints:
        try:
            keys.open(note)
        except SignedByAnother as error:
            raise StartError(f"the checkpoint {_REPLACED}", place, f"{_LATER_BACKUP}, without it") from error
        except (Malformed, Refuted) as error:
            fix = f"give what `identity ledger checkpoint` prints for {keys.present.name}, not the file ledger.checkpoint_path"
            raise StartError(f"the checkpoint is not one of the log in the backup: {error}", place, fix) from error
        found.append(Remembered(note, 0, bytes(32), is_published=True))
    if kept is None or (known.new_origin is not None and kept.checkpoint.origin == known.new_origin):
        # One that was begun under the new name and did not come to its end is begun anew.
        return found
    try:
        keys.open(kept.note)
    except SignedByAnother as error:
        fix = f"{_LATER_BACKUP}, with the file moved away"
        what = f"the checkpoint that this machine remembers {_REPLACED}"
        raise StartError(what, "the checkpoint that is remembered", fix) from error
    except (Malformed, Refuted) as error:
        what = f"this machine remembers another log: {error}"
        fix = "restore the backup of that installation, or move the file away if it is of one that is no more"
        raise StartError(what, "the checkpoint that is remembered", fix) from error
    return [*found, kept]


async def _gone_on(
    copy: Settings, manifest: BackupManifest, notes: Sequence[Remembered], new_origin: str | None, seen: SeenByWitnesses
) -> tuple[Restored, Remembered]:
    """Return the result of the restore, and the checkpoint to store after it."""
    if new_origin is not None:
        check_new_origin(copy, new_origin)
    async with log_beside(copy) as (logged, store):
        tree = await logged.follower.now()
        if new_origin == logged.signer.key.name:
            raise StartError("the log has this name already", new_origin, "take a name that no log of yours has had")
        await _require_one_history(logged, store, [one.checkpoint for one in notes])
        newest = max(notes, key=lambda one: (one.checkpoint.size, one.audit_lines), default=None)
        entries = max(tree.size, 0 if newest is None else newest.checkpoint.size)
        lines, _ = await audit_of(store).settled()
        known_lines = max([lines, *(one.audit_lines for one in notes)])
        await _record(store, manifest, tree.size, entries, new_origin)
        signer = logged.signer
        if new_origin is not None:
            await TransparencyTree(store.database).rename(new_origin)
            signer = signer.renamed(new_origin)
        end = await audit_of(store).settled()
        is_behind = new_origin is None and newest is not None and newest.checkpoint.size > tree.size
        remembered = Remembered(await signer.signed(tree), *end)
        if is_behind and newest is not None:
            is_published = any(one.is_published and one.checkpoint.size > tree.size for one in notes)
            remembered = Remembered(newest.note, *end, is_published)
        told = Restored(manifest, signer.key.name, tree.size, entries, lines, known_lines, not is_behind, seen)
        return told, remembered


async def _record(
    store: Store, manifest: BackupManifest, entries: int, known_entries: int, new_origin: str | None
) -> None:
    details: dict[str, JsonValue] = {
        "madeAt": manifest.created_at,
        "entries": entries,
        "entriesLost": known_entries - entries,
        "newOrigin": new_origin,
    }
    context = RequestContext("restoreBackup", OPERATOR)
    await Record(store.activity)(context, Event(details=details), SystemClock().now(), durable=True)


async def _require_one_history(logged: TransparencyLog, store: Store, known: Sequence[Checkpoint]) -> None:
    """Raise ``StartError`` if a checkpoint within the log is not of its history, or two of one size differ."""
    check = check_of(logged.ledger, store)
    size = (await logged.tree.frontier()).size
    roots: dict[int, bytes] = {}
    for one in known:
        if roots.setdefault(one.size, one.root) != one.root:
            fix = "find out which of them is true: the signer of both has shown two histories"
            raise StartError(f"two checkpoints of {one.size} entries differ", logged.signer.key.name, fix)
        if one.size <= size:
            try:
                await check.tree_of(one.size, one.root)
            except StorageMismatch as error:
                what = f"the backup contradicts a checkpoint: {error}"
                fix = "take the backup of the history that others hold; this one is forked or another log's"
                raise StartError(what, logged.signer.key.name, fix) from error


def _settle(folder: Path) -> None:
    """Write to the disk the databases that were changed after they were unpacked, and closed."""
    for path in folder.iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
    sync_folder(folder)
