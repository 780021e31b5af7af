"""Everything sealed anew under another data key, in one transaction beside running processes.

A process finds the new generation with the next row that it reads, opens the new seal with the master key, and continues. Nothing is
stored under a data key that was replaced: who stores a key looks at the generation in the same transaction. Nothing is sealed again while
a process that serves has not recorded that it can open the result (``processes``). A new master key is on the disk before the transaction
and takes the name of the old one after it: a crash in between leaves either, and both can be opened.
"""

from __future__ import annotations

import contextlib

from identity_codec import sealing
from identity_core.database import DatabaseError, Transaction
from identity_core.database.files import FOLDER, FileLock
from identity_core.database.sqlite_connection import rewrite
from identity_core.files import durable_draft, read_regular
from identity_core.ports.custodian import KeyRefused, Resealed
from identity_custodian_sealed.box_contents import DataKey
from identity_custodian_sealed.data_key import DATABASE, FILE, Seal, SealBroken, StoredSeal, stored_seal
from identity_custodian_sealed.held_key import Label
from identity_custodian_sealed.processes import offered, require_opened

_PATIENCE_SECONDS = 5.0
_LOCKED = "SELECT generation FROM custodian_seal WHERE id = 1"
_ALL = "SELECT name, key_type, did, purpose, public_key, box FROM custodian_keys ORDER BY name"
_UPDATE = "UPDATE custodian_keys SET box = :box WHERE name = :name"


def generation_of(transaction: Transaction, dialect: str, *, to_change: bool = False) -> int | None:
    """Return the generation of the data key, which does not change before the transaction ends; None where there is none.

    A caller that changes keys calls this first, so that all lock in one order.
    """
    lock = "" if dialect == "sqlite" else " FOR UPDATE" if to_change else " FOR SHARE"
    found = transaction.execute(_LOCKED + lock).fetchone()
    return None if found is None else int(found[0])


def reseal(seal: Seal, *, compromised: bool) -> Resealed:
    """Seal everything under a new data key; ``compromised``: under a new master key too. Raises ``KeyRefused``, ``DatabaseError``,
    ``OSError``."""
    try:
        seal.open()
        with contextlib.closing(FileLock(seal.master_key_file.parent, FOLDER)) as lock:
            if not lock.try_acquire():
                raise KeyRefused("A backup, a restore or another rotation is at work on this data directory.")
            return _resealed(seal, compromised=compromised)
    except SealBroken as error:
        raise KeyRefused(f"{error}.") from error


def _resealed(seal: Seal, *, compromised: bool) -> Resealed:
    row = seal.database.read_now(stored_seal)
    if row is None:
        raise KeyRefused("Nothing is sealed yet.")
    seal.settle_file(row)
    old = seal.unsealed(row)
    # Who may have the master key may have what the secrets of holders follow from, which no seal changes.
    roots = (*old.roots, seal.random(sealing.KEY_BYTES)) if compromised else old.roots
    new = DataKey(old.generation + 1, seal.random(sealing.KEY_BYTES), roots)
    sealed = _under_another_master_key(seal, new, row) if compromised else seal.resealed(new, row)
    with offered(seal, sealed):
        keys = seal.database.write_now(lambda transaction: _reseal_all(seal, row, (old, new), sealed, transaction))
    seal.settle_file(sealed)
    return Resealed(new.generation, keys, compromised, _erase_old_boxes(seal))


def _erase_old_boxes(seal: Seal) -> str:
    """Take what was written over or deleted out of the files of an SQLite database. What is left for the operator to do, who has
    those of a server; empty where nothing is."""
    if seal.database.dialect != "sqlite":
        command = "VACUUM FULL custodian_keys, custodian_seal"
        return f"run `{command}` at the database server, and destroy its archived log and its base backups of before"
    path = seal.master_key_file.with_name(DATABASE)
    lock = FileLock(path.with_name(f"{path.name}.lock"))
    try:
        is_wiped = rewrite(path, lock, patience_seconds=_PATIENCE_SECONDS)
    except DatabaseError as error:
        return f"{path.name} could not be written anew ({error.reason}): rotate again"
    finally:
        lock.close()
    return "" if is_wiped else f"something reads {path.name} all the time, such as a backup: rotate again after it"


def _reseal_all(
    seal: Seal, row: StoredSeal, data_keys: tuple[DataKey, DataKey], sealed: StoredSeal, transaction: Transaction
) -> int:
    old, new = data_keys
    generation_of(transaction, seal.database.dialect, to_change=True)
    if stored_seal(transaction) != row:
        raise KeyRefused("Another process has just changed the seal: nothing was done.")
    require_opened(transaction, seal, sealed)
    rows = transaction.execute(_ALL).fetchall()
    for name, key_type, did, purpose, public_key, box in rows:
        bound = Label(name, key_type, did, purpose).encode(public_key)
        try:
            secret = sealing.unseal(old.key, bytes(box), bound)
        except sealing.BoxInvalid as error:
            raise KeyRefused("The row of a key was changed: nothing was sealed anew.", details={"key": name}) from error
        transaction.execute(_UPDATE, {"name": name, "box": sealing.seal(new.key, secret, bound, random=seal.random)})
    sealed.replace_seal(transaction, replaced=old.generation)
    return len(rows)


def _under_another_master_key(seal: Seal, new: DataKey, row: StoredSeal) -> StoredSeal:
    if row.kind != FILE:
        others = seal.previous_passphrase not in (None, seal.passphrase) or seal.master_key_file.exists()
        if not others:
            raise KeyRefused(
                "Another person may have the passphrase: set another, and the old one as previous_passphrase. Restart every process, "
                "and run this command, with both."
            )
        return seal.sealed(new)
    path = seal.next_file
    if seal.database.dialect == "sqlite" or not path.exists():
        with durable_draft(path, seal.random(sealing.KEY_BYTES)) as draft:
            draft.replace(path)
        if seal.database.dialect != "sqlite":
            raise KeyRefused(
                f"A new master key lies in {path}, and nothing was sealed under it yet: copy it into the data directory of every replica, "
                "and rotate again."
            )
    return StoredSeal.over(new, read_regular(path), seal.random)
