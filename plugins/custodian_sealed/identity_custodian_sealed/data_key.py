"""The data key, which seals every key, and the seal around it: a passphrase, or a master key file.

An envelope: the master key (32 random bytes in a file, or Argon2id of the passphrase) opens one box, and in it lies the
random data key. So a change of passphrase, or from the file to a passphrase, rewrites one row and no key. A wrong
passphrase is known by the box that does not open.

Data keys have generations, from 1. The secrets of holders follow from the first one, which lies in the box with every later one, and new
ones, since the master key may have been exposed, from another key that lies behind it. A new
master key is first in a file of its own beside the old one, and takes its name when it opens what is stored.
"""

from __future__ import annotations

import contextlib
import logging
import stat
import threading
from collections.abc import Callable
from pathlib import Path

from msgspec import Struct, field

from identity_codec import sealing
from identity_codec.values import Hidden
from identity_core.database import Database, DatabaseAbsent, Transaction
from identity_core.database.files import FOLDER, FileLock
from identity_core.files import durable_draft, read_regular, require_own, sync_folder
from identity_core.store.records import Table
from identity_custodian_sealed.box_contents import DataKey, purpose, roots_in

PASSPHRASE, FILE = "passphrase", "file"
DATABASE = "custodian.sqlite"

_REPLACE = (
    "UPDATE custodian_seal SET kind = :kind, salt = :salt, operations = :operations, memory_bytes = :memory_bytes, "
    "box = :box, generation = :generation WHERE id = 1 AND generation = :replaced"
)


class SealBroken(Exception):
    """The data key cannot be unsealed; the text is the reason, ``fix`` the remedy."""

    def __init__(self, reason: str, fix: str = "") -> None:
        super().__init__(reason)
        self.fix = fix


class Costs(Struct, frozen=True):
    """The cost parameters of Argon2id for a passphrase."""

    operations: int
    memory_bytes: int


class StoredSeal(Struct, frozen=True):
    """The row: a box with a data key, and what opens it."""

    kind: str
    salt: bytes
    costs: Costs
    box: bytes
    generation: int

    @classmethod
    def over(
        cls,
        data_key: DataKey,
        master_key: bytes,
        random: Callable[[int], bytes],
        *,
        salt: bytes = b"",
        costs: Costs | None = None,
    ) -> StoredSeal:
        """Return the data key in a new box; ``salt`` and ``costs`` made the master key of a passphrase."""
        box = sealing.seal(
            master_key, data_key.encoded, purpose(data_key.generation, len(data_key.roots)), random=random
        )
        return cls(PASSPHRASE if costs else FILE, salt, costs or Costs(0, 0), box, data_key.generation)

    def open_box(self, master_key: bytes) -> DataKey:
        """Raise ``BoxInvalid``."""
        data = sealing.unseal(master_key, self.box, purpose(self.generation, roots_in(self.box)))
        return DataKey.from_contents(self.generation, data)

    def replace_seal(self, transaction: Transaction, *, replaced: int) -> bool:
        """Store it instead of the seal of that generation, and return whether that was there."""
        return bool(transaction.execute(_REPLACE, _SEAL.write(self, replaced=replaced)).rowcount)


def seals_in(table: str) -> Table[StoredSeal]:
    """Return the columns of a table that holds one seal."""
    return Table(table, StoredSeal, spread={"costs": ("operations", "memory_bytes")}, extra=("id",))


_SEAL = seals_in("custodian_seal")
_INSERT = f"{_SEAL.insert} ON CONFLICT DO NOTHING"


def stored_seal(transaction: Transaction) -> StoredSeal | None:
    """Return the job that reads the row."""
    return read_seal(transaction, _SEAL)


def read_seal(transaction: Transaction, table: Table[StoredSeal]) -> StoredSeal | None:
    """Return the seal in the table; None where there is none."""
    found = transaction.execute(f"{table.select} WHERE id = 1").fetchone()
    return None if found is None else table.read(found)


class Seal(Hidden, Struct, frozen=True):
    """The stored seal of one installation. Works without an event loop: it is opened while the plugin is built."""

    database: Database
    master_key_file: Path
    costs: Costs
    logger: logging.Logger
    random: Callable[[int], bytes]
    passphrase: str | None = None
    previous_passphrase: str | None = None
    _known: dict[tuple[str, bytes, Costs], bytes] = field(default_factory=dict)
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    @property
    def next_file(self) -> Path:
        """Return the path of a new master key before it opens the stored data. A backup takes it along by its name."""
        return self.master_key_file.with_name("custodian-next.key")

    def open(self) -> DataKey:
        """Return the data key; the first time it is made. Raises ``SealBroken``.

        With a passphrase, a seal that is still one of the master key file or of ``previous_passphrase`` is changed to
        the passphrase.
        """
        row = self.database.read_now(stored_seal)
        if row is None:
            if self.database.read_only:
                raise DatabaseAbsent("nothing is sealed yet")
            row = self._first()
        data_key, is_as_set = self._open_seal(row)
        if is_as_set or self.database.read_only:
            return data_key
        changed = self.sealed(data_key)
        if not self.database.write_now(lambda transaction: changed.replace_seal(transaction, replaced=row.generation)):
            # Another process has sealed everything anew.
            return self.open()
        if row.kind == FILE:
            self.logger.warning("the keys are sealed under the passphrase now; remove %s", self.master_key_file)
        else:
            self.logger.warning("the passphrase was changed; remove previous_passphrase from the settings")
        return data_key

    def unsealed(self, row: StoredSeal) -> DataKey:
        """Return the data key of a row, with what the settings and the files have now. Blocks where a passphrase has to be
        stretched. Raises ``SealBroken``."""
        return self._open_seal(row)[0]

    def sealed(self, data_key: DataKey) -> StoredSeal:
        """Return a new seal under the passphrase, with a salt of its own, or under the master key file, which is made when it is
        absent."""
        if self.passphrase is None:
            return StoredSeal.over(data_key, self._master_key_made(), self.random)
        salt = self.random(sealing.SALT_BYTES)
        master_key = self._stretched(self.passphrase, salt, self.costs)
        return StoredSeal.over(data_key, master_key, self.random, salt=salt, costs=self.costs)

    def resealed(self, data_key: DataKey, row: StoredSeal) -> StoredSeal:
        """Return a seal over ``data_key`` that opens as ``row`` does, so that every process can open it."""
        if row.kind == FILE:
            return StoredSeal.over(data_key, self._master_key(), self.random)
        if self.passphrase is None:
            raise SealBroken(_NONE_SET, _RIGHT_ONE)
        master_key = self._stretched(self.passphrase, row.salt, row.costs)
        return StoredSeal.over(data_key, master_key, self.random, salt=row.salt, costs=row.costs)

    def opens(self, row: StoredSeal) -> bool:
        """Return whether a passphrase or a file that is here opens it. Nothing is changed; blocks as ``unsealed`` does."""
        if row.kind == FILE:
            return self._opens(self.master_key_file, row) or self._opens(self.next_file, row)
        for passphrase in (self.passphrase, self.previous_passphrase):
            with contextlib.suppress(sealing.BoxInvalid):
                if passphrase is not None and row.open_box(self._stretched(passphrase, row.salt, row.costs)):
                    return True
        return False

    def settle_file(self, row: StoredSeal) -> None:
        """Give the next master key its name where it is the one that opens ``row``. The caller has the lock of the folder."""
        if row.kind == FILE and not self._opens(self.master_key_file, row) and self._opens(self.next_file, row):
            self.next_file.replace(self.master_key_file)
            sync_folder(self.master_key_file.parent)

    def _first(self) -> StoredSeal:
        key = self.random(sealing.KEY_BYTES)
        made = self.sealed(DataKey(1, key, (key,)))
        # Several processes may start at once; the first row stays, and all read it.
        self.database.write_now(lambda transaction: transaction.execute(_INSERT, _SEAL.write(made, id=1)).rowcount)
        return self.database.read_now(stored_seal) or made

    def _open_seal(self, row: StoredSeal) -> tuple[DataKey, bool]:
        """Return the data key, and whether its seal agrees with the settings."""
        if row.kind == FILE:
            return self._opened_by_file(row), self.passphrase is None
        if self.passphrase is None:
            raise SealBroken(_NONE_SET, _RIGHT_ONE)
        with contextlib.suppress(sealing.BoxInvalid):
            return row.open_box(self._stretched(self.passphrase, row.salt, row.costs)), True
        if self.previous_passphrase is None:
            raise SealBroken(
                "the passphrase is wrong; to change it, set the old one as previous_passphrase", _RIGHT_ONE
            )
        try:
            return row.open_box(self._stretched(self.previous_passphrase, row.salt, row.costs)), False
        except sealing.BoxInvalid:
            raise SealBroken("neither passphrase nor previous_passphrase is right", _RIGHT_ONE) from None

    def _opened_by_file(self, row: StoredSeal) -> DataKey:
        with contextlib.suppress(sealing.BoxInvalid):
            return row.open_box(self._master_key())
        with contextlib.suppress(sealing.BoxInvalid, OSError):
            data_key = row.open_box(read_regular(self.next_file))
            if not self.database.read_only:
                with contextlib.closing(FileLock(self.master_key_file.parent, FOLDER)) as lock:
                    # A backup or a rotation that is at work leaves it to the next one who looks.
                    if lock.try_acquire():
                        self.settle_file(row)
            return data_key
        # Another process may have given the next one its name between the two reads.
        try:
            return row.open_box(self._master_key())
        except sealing.BoxInvalid:
            raise SealBroken(
                f"{self.master_key_file} is not the master key of this database", self._put_back()
            ) from None

    def _opens(self, path: Path, row: StoredSeal) -> bool:
        try:
            row.open_box(read_regular(path))
        except (OSError, ValueError, sealing.BoxInvalid):
            return False
        return True

    def _master_key(self) -> bytes:
        try:
            require_own(self.master_key_file)
            key = read_regular(self.master_key_file)
            mode = self.master_key_file.stat().st_mode
        except OSError as error:
            reason = f"the master key {self.master_key_file} cannot be read: {error.strerror}"
            raise SealBroken(reason, self._put_back()) from error
        if len(key) != sealing.KEY_BYTES:
            raise SealBroken(f"{self.master_key_file} is not a master key: it must have 32 bytes", self._put_back())
        if stat.S_IMODE(mode) & 0o077:
            self.logger.warning("others may read the master key %s; set its mode to 0600", self.master_key_file)
        return key

    def _put_back(self) -> str:
        return (
            f"put your copy of the master key back as {self.master_key_file} (mode 0600), or the data directory from one backup; "
            "keep the file that is there until then"
        )

    def _master_key_made(self) -> bytes:
        """Return the file's key; makes the file, whole and durable or not at all, when it is absent."""
        path = self.master_key_file
        if path.exists():
            return self._master_key()
        # A link fails where another process was first; then its key holds.
        with durable_draft(path, self.random(sealing.KEY_BYTES)) as draft, contextlib.suppress(FileExistsError):
            path.hardlink_to(draft)
            self.logger.warning(
                "made a random master key in %s (mode 0600): keep a copy of it apart from the database, or set a passphrase",
                path,
            )
        return self._master_key()

    def _stretched(self, passphrase: str, salt: bytes, costs: Costs) -> bytes:
        """Return the master key of a passphrase. It is kept, and made by one thread at a time, because it takes half a second and
        the memory."""
        with self._one_at_a_time:
            known = (passphrase, salt, costs)
            if known not in self._known:
                self._known[known] = sealing.key_from_passphrase(
                    passphrase.encode(), salt, operations=costs.operations, memory_bytes=costs.memory_bytes
                )
            return self._known[known]


_RIGHT_ONE = "set the passphrase that the keys are sealed under; nothing else opens them"
_NONE_SET = (
    "the keys are sealed under a passphrase, and none is set; set IDENTITY_PLUGINS_SEALED_PASSPHRASE, "
    "IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE or passphrase in [plugins.sealed]"
)
