"""Which processes serve, and whether each of them opens the seal that a rotation is about to store.

A process that serves has a row, which it writes again every ten seconds and takes away when it ends. A rotation puts its new seal
beside the one in use; every process reads that within five seconds, tries it with the passphrases and the files that it has, and writes
the outcome into its row. The
row of a process that crashed counts until it is thirty seconds old by the database's clock, and is then swept by the next process
that writes its own. Processes of a version without rows are not seen.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import time
from collections.abc import Iterator
from typing import Final

from msgspec import Struct, field

from identity_codec.strict_json import JsonValue
from identity_core.database import Transaction
from identity_core.ports.custodian import KeyRefused
from identity_custodian_sealed.data_key import FILE, Seal, StoredSeal, read_seal, seals_in

INTERVAL_SECONDS: Final = 5.0
_WRITE_SECONDS: Final = 10.0
CRASHED_AFTER_SECONDS: Final = 30
PATIENCE_SECONDS: Final = 15.0
_LOOK_SECONDS: Final = 0.1
_MOST_NAMED: Final = 20

_NOW = {
    "postgresql": "CAST(extract(epoch FROM clock_timestamp()) AS BIGINT)",
    "sqlite": "CAST(strftime('%s', 'now') AS INTEGER)",
}
_TELL = """
INSERT INTO custodian_processes (id, host, number, seen_at, answered, opens)
VALUES (:id, :host, :number, {now}, :answered, :opens)
ON CONFLICT (id) DO UPDATE SET seen_at = excluded.seen_at, answered = excluded.answered, opens = excluded.opens
"""
_SWEEP = "DELETE FROM custodian_processes WHERE seen_at < {now} - :lifetime"
_LEAVE = "DELETE FROM custodian_processes WHERE id = :id"
_LIVING = """
SELECT host, number, answered, opens FROM custodian_processes WHERE seen_at >= {now} - :lifetime ORDER BY host, number
"""
_OFFERED = seals_in("custodian_offer")
_OFFER = f"""
{_OFFERED.insert} ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, salt = excluded.salt, operations = excluded.operations,
    memory_bytes = excluded.memory_bytes, box = excluded.box, generation = excluded.generation
"""
_WITHDRAW = "DELETE FROM custodian_offer WHERE id = 1 AND box = :box"
_LIFETIME = {"lifetime": CRASHED_AFTER_SECONDS}


class Attendance(Struct):
    """The row of this process. ``tell`` is called by one task at a time."""

    seal: Seal
    id: str = field(default_factory=lambda: secrets.token_hex(16))
    _answered: bytes | None = None
    _opens: bool = False
    _is_told: bool = False
    _write_at: float = 0.0

    async def tell(self) -> float:
        """Write the row, with the answer to what is offered; how many seconds later again. Raises ``DatabaseError``."""
        database = self.seal.database
        if not _has_others(self.seal):
            return INTERVAL_SECONDS
        offered, before = await database.read(_offered), (self._answered, self._opens)
        if offered is None:
            self._answered, self._opens = None, False
        elif offered.box != self._answered or not self._opens:
            # To stretch a passphrase takes half a second; and a file may have been put there a moment ago.
            self._opens = await asyncio.to_thread(self.seal.opens, offered)
            self._answered = offered.box
        now = time.monotonic()
        if (self._answered, self._opens) != before or now >= self._write_at:
            self._is_told, self._write_at = True, 0.0
            await database.write(self._write_status, durable=False)
            self._write_at = now + _WRITE_SECONDS
        return INTERVAL_SECONDS

    async def leave(self) -> None:
        """Take the row away, where there is one. Raises ``DatabaseError``."""
        if self._is_told:
            self._is_told = False
            job = {"id": self.id}
            await self.seal.database.write(lambda transaction: transaction.execute(_LEAVE, job).rowcount, durable=False)

    def _write_status(self, transaction: Transaction) -> None:
        row = {"id": self.id, "host": socket.gethostname(), "number": os.getpid()}
        answer = {"answered": self._answered, "opens": int(self._opens)}
        transaction.execute(_by_clock(self.seal, _TELL), row | answer)
        transaction.execute(_by_clock(self.seal, _SWEEP), _LIFETIME)


@contextlib.contextmanager
def offered(seal: Seal, new: StoredSeal) -> Iterator[None]:
    """Within it ``new`` is offered and every process that serves has opened it. Raises ``KeyRefused`` naming those that have not."""
    if not _has_others(seal):
        yield
        return
    database, parameters = seal.database, _OFFERED.write(new, id=1)
    database.write_now(lambda transaction: transaction.execute(_OFFER, parameters).rowcount)
    try:
        until = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < until:
            open_questions = database.read_now(lambda transaction: _not_opened(transaction, seal, new))
            if not open_questions or any(one.answered for one in open_questions):
                break
            time.sleep(_LOOK_SECONDS)
        yield
    finally:
        database.write_now(lambda transaction: transaction.execute(_WITHDRAW, {"box": new.box}).rowcount)


def require_opened(transaction: Transaction, seal: Seal, new: StoredSeal) -> None:
    """Raise ``KeyRefused`` unless every process that serves has recorded that it opens ``new``."""
    if not _has_others(seal) or not (behind := _not_opened(transaction, seal, new)):
        return
    names: list[JsonValue] = [str(one) for one in behind[:_MOST_NAMED]]
    remedy = (
        f"copy {seal.next_file.name if seal.next_file.exists() else seal.master_key_file.name} into the data directory of each"
        if new.kind == FILE
        else "start each again with the passphrase of this command, and the one before as previous_passphrase"
    )
    raise KeyRefused(
        f"Nothing was sealed anew, because of {', '.join(map(str, names))}: {remedy}, and rotate again. A process that crashed counts for "
        f"{CRASHED_AFTER_SECONDS} seconds.",
        details={"processes": names},
    )


class _Behind(Struct, frozen=True):
    """A process that has not opened what is offered: ``answered`` that it cannot, or nothing yet."""

    host: str
    number: int
    answered: bool

    def __str__(self) -> str:
        said = "cannot open it" if self.answered else "has not answered"
        return f"process {self.number} of {self.host} ({said})"


def _has_others(seal: Seal) -> bool:
    """Return whether a process may have another master key than its neighbour: those that share an SQLite file share the file
    beside it."""
    return seal.database.dialect != "sqlite" or seal.passphrase is not None


def _by_clock(seal: Seal, statement: str) -> str:
    return statement.format(now=_NOW[seal.database.dialect])


def _offered(transaction: Transaction) -> StoredSeal | None:
    return read_seal(transaction, _OFFERED)


def _not_opened(transaction: Transaction, seal: Seal, new: StoredSeal) -> list[_Behind]:
    found = []
    for host, number, answered, opens in transaction.execute(_by_clock(seal, _LIVING), _LIFETIME).fetchall():
        has_answered = answered is not None and bytes(answered) == new.box
        if not (has_answered and opens):
            found.append(_Behind(host, number, has_answered))
    return found
