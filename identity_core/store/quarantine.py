"""DIDs that are withheld because index and ledger differ, until an operator repairs them.

No request is refused because of a row in this table: each read detects the fault again, and a repaired DID works at once. The table
is for operators: readiness, metrics, ``identity doctor`` and the audit log. A suspicion is first noted in memory, because reads write
nothing, and is stored in the table within a second.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from identity_core.database import Database, Transaction
from identity_core.ports.repositories import Suspicion
from identity_core.store.records import Repository, Table

# Suspicions that are not stored yet. If an attacker changes more rows within a second, the audit of the index finds them.
NOTED: Final = 10_000

_TABLE = Table("quarantined_dids", Suspicion)
_INSERT = f"{_TABLE.insert} ON CONFLICT DO NOTHING"
_LIST = f"{_TABLE.select} WHERE did > :after ORDER BY did LIMIT :limit"
_KNOWN = "SELECT 1 FROM quarantined_dids WHERE did = :did"
_COUNT = "SELECT count(*) FROM quarantined_dids"
_RELEASE = "DELETE FROM quarantined_dids WHERE did = :did"


class QuarantinedDids(Repository):
    """The port ``Quarantine`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._noted: dict[str, str] = {}

    def suspect(self, did: str, reason: str) -> None:
        if did not in self._noted and len(self._noted) < NOTED:
            self._noted[did] = reason

    async def unknown(self, now: datetime) -> Sequence[Suspicion]:
        if not self._noted:
            return ()
        noted = dict(self._noted)
        stored = await self._database.read(lambda transaction: _stored(transaction, noted))
        for did in stored:
            self._noted.pop(did, None)
        return [Suspicion(did, reason, now) for did, reason in noted.items() if did not in stored]

    async def add(self, found: Sequence[Suspicion]) -> None:
        await self._database.write(lambda transaction: _add(transaction, found))
        for one in found:
            self._noted.pop(one.did, None)

    async def list(self, *, after: str, limit: int) -> Sequence[Suspicion]:
        return [_TABLE.read(row) for row in await self._rows(_LIST, {"after": after, "limit": limit})]

    async def count(self) -> int:
        ((stored,),) = await self._rows(_COUNT, {})
        return max(int(stored), len(self._noted))

    async def release(self, did: str) -> None:
        self._noted.pop(did, None)
        await self._change(_RELEASE, {"did": did})


def _stored(transaction: Transaction, dids: Iterable[str]) -> set[str]:
    return {did for did in dids if transaction.execute(_KNOWN, {"did": did}).fetchone() is not None}


def _add(transaction: Transaction, found: Sequence[Suspicion]) -> None:
    for one in found:
        transaction.execute(_INSERT, _TABLE.write(one))
