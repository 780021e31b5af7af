"""The stored cosigned checkpoints of the log: the newest, and one per minute of earlier ones. They prove the time of an entry years
later, without one row per second for a busy log."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Final

from identity_codec.times import micros
from identity_core.database import Transaction
from identity_core.store.records import Repository

APART: Final = timedelta(minutes=1)

_NEWEST: Final = "SELECT note FROM cosigned_checkpoints ORDER BY size DESC LIMIT 1"
_COVERING: Final = "SELECT note FROM cosigned_checkpoints WHERE size > :place ORDER BY size LIMIT 1"
_LAST_TWO: Final = "SELECT size, cosigned_at FROM cosigned_checkpoints ORDER BY size DESC LIMIT 2"
_DROP: Final = "DELETE FROM cosigned_checkpoints WHERE size = :size"
_KEEP: Final = """
INSERT INTO cosigned_checkpoints (size, cosigned_at, note) VALUES (:size, :cosigned_at, :note)
ON CONFLICT (size) DO UPDATE SET cosigned_at = excluded.cosigned_at, note = excluded.note
"""


class StoredCosignedCheckpoints(Repository):
    """Signed notes that a quorum has cosigned: the newest, and one a minute of those before it."""

    async def newest(self) -> bytes | None:
        """Return the one with the most entries."""
        return _note(await self._rows(_NEWEST, {}))

    async def covering(self, index: int) -> bytes | None:
        """Return the one with the fewest entries among those that cover the leaf ``index`` (from 0)."""
        return _note(await self._rows(_COVERING, {"place": index}))

    async def keep(self, size: int, cosigned_at: datetime, note: bytes) -> None:
        """Store a checkpoint of ``size`` entries unless a newer one is stored; replace one of the same size.

        A loss of power may lose it, but the witnesses still have it.
        """
        row = {"size": size, "cosigned_at": micros(cosigned_at), "note": note}
        await self._database.write(lambda transaction: _keep(transaction, row), durable=False)


def _note(rows: list[tuple[bytes]]) -> bytes | None:
    return bytes(rows[0][0]) if rows else None


def _keep(transaction: Transaction, row: dict[str, object]) -> None:
    found = transaction.execute(_LAST_TWO).fetchall()
    if found and found[0][0] > row["size"]:
        return
    if len(found) == 2 and found[0][1] < found[1][1] + APART // timedelta(microseconds=1):
        # The newest is too close to the one before it to stay.
        transaction.execute(_DROP, {"size": found[0][0]})
    transaction.execute(_KEEP, row)
