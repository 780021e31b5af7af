"""The end of the audit log, as something to hold the store to later; and what is dropped when the ledger was rolled back on purpose."""

from __future__ import annotations

from identity_core.database import Database, Transaction
from identity_core.domain.audit_chain import GENESIS

_LAST = "SELECT sequence, link FROM audit_lines ORDER BY sequence DESC LIMIT 1"
# A commit without a change would not reach the disk, and lines before it are not durable by themselves.
_TOUCH = "UPDATE transparency_head SET size = size WHERE id = 1"
_CUT = (
    "DELETE FROM did_versions WHERE sequence > :sequence",
    "DELETE FROM projections WHERE name = 'documents' AND sequence > :sequence",
    "DELETE FROM transparency_tiles",
    "DELETE FROM transparency_places",
)
_BARE_TREE = "UPDATE transparency_head SET size = 0, peaks = :peaks WHERE id = 1"


class StoredAuditEnd:
    """The port ``AuditEnd`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def settled(self) -> tuple[int, bytes]:
        return await self._database.write(_settle)

    def require_in_place(self) -> None:
        self._database.require_in_place()


async def drop_projections(database: Database, sequence: int) -> None:
    """Drops what was projected from ledger entries after ``sequence``, and the whole tree, which is made again. The ledger must
    have been rolled back to it, and an operator have accepted that."""

    def cut(transaction: Transaction) -> None:
        for statement in _CUT:
            transaction.execute(statement, {"sequence": sequence} if ":sequence" in statement else {})
        transaction.execute(_BARE_TREE, {"peaks": b""})

    await database.write(cut)


def _settle(transaction: Transaction) -> tuple[int, bytes]:
    transaction.execute(_TOUCH)
    found = transaction.execute(_LAST).fetchone()
    return (0, GENESIS) if found is None else (found[0], bytes(found[1]))
