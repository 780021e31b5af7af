"""The data key, which seals every key, and the seal around it: a passphrase, or a master key file.

An envelope: the master key (32 random bytes in a file, or Argon2id of the passphrase) opens one box, and in it lies the
random data key. So a change of passphrase, or from the file to a passphrase, rewrites one row and no key. A wrong
passphrase is known by the box that does not open.
"""

from __future__ import annotations

import contextlib
import logging
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from identity_core.crypto import sealing
from identity_core.database import Database, DatabaseAbsent, Transaction
from identity_core.database.files import durable_draft

_PURPOSE = b"identity-service custodian data key v1"
_PASSPHRASE, _FILE = "passphrase", "file"

_READ = "SELECT kind, salt, operations, memory_bytes, box FROM custodian_seal WHERE id = 1"
_INSERT = (
    "INSERT INTO custodian_seal (id, kind, salt, operations, memory_bytes, box) "
    "VALUES (1, :kind, :salt, :operations, :memory_bytes, :box) ON CONFLICT DO NOTHING"
)
_REPLACE = (
    "UPDATE custodian_seal SET kind = :kind, salt = :salt, operations = :operations, memory_bytes = :memory_bytes, "
    "box = :box WHERE id = 1"
)


class SealBroken(Exception):
    """The data key cannot be unsealed; the text tells the operator why."""


@dataclass(frozen=True, slots=True)
class Costs:
    """What Argon2id spends on a passphrase."""

    operations: int
    memory_bytes: int


@dataclass(frozen=True, slots=True)
class _Row:
    kind: str
    salt: bytes
    costs: Costs
    box: bytes

    def parameters(self) -> dict[str, object]:
        costs = {"operations": self.costs.operations, "memory_bytes": self.costs.memory_bytes}
        return {"kind": self.kind, "salt": self.salt, "box": self.box, **costs}


@dataclass(frozen=True, slots=True)
class Seal:
    """The stored seal of one installation. Works without an event loop: it is opened while the plugin is built."""

    database: Database
    master_key_file: Path
    costs: Costs
    logger: logging.Logger
    random: Callable[[int], bytes]

    def open(self, passphrase: str | None, previous_passphrase: str | None) -> bytes:
        """The 32-byte data key; the first time it is made. Raises ``SealBroken``.

        With a passphrase, a seal that is still one of the master key file or of ``previous_passphrase`` is changed to
        the passphrase.
        """
        row = self._read()
        if row is None:
            if self.database.read_only:
                raise DatabaseAbsent("nothing is sealed yet")
            row = self._first(passphrase)
        if passphrase is None:
            return self._opened_without(row)
        if row.kind == _PASSPHRASE:
            with contextlib.suppress(sealing.BoxInvalid):
                return sealing.unseal(_stretched(passphrase, row.salt, row.costs), row.box, _PURPOSE)
        data_key = self._opened_the_old_way(row, previous_passphrase)
        if self.database.read_only:
            return data_key
        self.database.write_now(_execute(_REPLACE, self._sealed(data_key, passphrase)))
        if row.kind == _FILE:
            self.logger.warning("the keys are sealed under the passphrase now; remove %s", self.master_key_file)
        else:
            self.logger.warning("the passphrase was changed; remove previous_passphrase from the settings")
        return data_key

    def _read(self) -> _Row | None:
        found = self.database.read_now(lambda transaction: transaction.execute(_READ).fetchone())
        if found is None:
            return None
        kind, salt, operations, memory_bytes, box = found
        return _Row(kind, bytes(salt), Costs(operations, memory_bytes), bytes(box))

    def _first(self, passphrase: str | None) -> _Row:
        made = self._sealed(self.random(sealing.KEY_BYTES), passphrase)
        # Several processes may start at once; the first row stays, and all read it.
        self.database.write_now(_execute(_INSERT, made))
        return self._read() or made

    def _sealed(self, data_key: bytes, passphrase: str | None) -> _Row:
        if passphrase is None:
            box = sealing.seal(self._master_key_made(), data_key, _PURPOSE, random=self.random)
            return _Row(_FILE, b"", Costs(0, 0), box)
        salt = self.random(sealing.SALT_BYTES)
        box = sealing.seal(_stretched(passphrase, salt, self.costs), data_key, _PURPOSE, random=self.random)
        return _Row(_PASSPHRASE, salt, self.costs, box)

    def _opened_without(self, row: _Row) -> bytes:
        if row.kind == _PASSPHRASE:
            raise SealBroken(
                "the keys are sealed under a passphrase, and none is set; set IDENTITY_PLUGINS_SEALED_PASSPHRASE, "
                "IDENTITY_PLUGINS_SEALED_PASSPHRASE_FILE or passphrase in [plugins.sealed]"
            )
        return self._opened_by_file(row)

    def _opened_the_old_way(self, row: _Row, previous_passphrase: str | None) -> bytes:
        if row.kind == _FILE:
            return self._opened_by_file(row)
        if previous_passphrase is None:
            raise SealBroken("the passphrase is wrong; to change it, set the old one as previous_passphrase")
        try:
            return sealing.unseal(_stretched(previous_passphrase, row.salt, row.costs), row.box, _PURPOSE)
        except sealing.BoxInvalid:
            raise SealBroken("neither passphrase nor previous_passphrase is right") from None

    def _opened_by_file(self, row: _Row) -> bytes:
        try:
            return sealing.unseal(self._master_key(), row.box, _PURPOSE)
        except sealing.BoxInvalid:
            raise SealBroken(f"{self.master_key_file} is not the master key of this database") from None

    def _master_key(self) -> bytes:
        try:
            key = self.master_key_file.read_bytes()
            mode = self.master_key_file.stat().st_mode
        except OSError as error:
            raise SealBroken(f"the master key {self.master_key_file} cannot be read: {error.strerror}") from error
        if len(key) != sealing.KEY_BYTES:
            raise SealBroken(f"{self.master_key_file} is no master key: it must have 32 bytes")
        if stat.S_IMODE(mode) & 0o077:
            self.logger.warning("others may read the master key %s; set its mode to 0600", self.master_key_file)
        return key

    def _master_key_made(self) -> bytes:
        """The file's key; makes the file, whole and durable or not at all, when it is absent."""
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


def _stretched(passphrase: str, salt: bytes, costs: Costs) -> bytes:
    return sealing.key_from_passphrase(
        passphrase.encode(), salt, operations=costs.operations, memory_bytes=costs.memory_bytes
    )


def _execute(sql: str, row: _Row) -> Callable[[Transaction], int]:
    return lambda transaction: transaction.execute(sql, row.parameters()).rowcount
