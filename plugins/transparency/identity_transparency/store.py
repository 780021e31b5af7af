"""The published did-witness.json of DIDs whose logs have witnesses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct

from identity_core.database import Database, Transaction
from identity_core.domain.activity import EventRecord
from identity_core.store.events import StoredEvents
from identity_core.store.records import Repository


class WitnessFile(Struct, frozen=True):
    """The did-witness.json of a DID. It approves the first ``versions`` of the log, whose lines have ``log_octets`` bytes without
    line ends."""

    versions: int
    log_octets: int
    encoded: bytes


_FIND: Final = "SELECT versions, log_octets, octets FROM witness_files WHERE did = :did"
_ADD: Final = """
INSERT INTO witness_files (did, versions, log_octets, octets) VALUES (:did, :versions, :log_octets, :encoded)
ON CONFLICT DO NOTHING
"""
_REPLACE: Final = """
UPDATE witness_files SET versions = :versions, log_octets = :log_octets, octets = :encoded
WHERE did = :did AND octets = :before
"""


class StoredWitnessFiles(Repository):
    """The stored did-witness.json of each DID."""

    def __init__(self, database: Database, activity: StoredEvents) -> None:
        super().__init__(database)
        self._activity = activity

    async def find(self, did: str) -> WitnessFile | None:
        """Return the file of the DID."""
        rows = await self._rows(_FIND, {"did": did})
        return WitnessFile(*rows[0]) if rows else None

    async def replace(
        self, did: str, before: bytes | None, after: WitnessFile, event: EventRecord | None = None
    ) -> bool:
        """Replace the file with the bytes ``before`` (None: no file) by ``after``, together with ``rows``, durably and atomically.
        Return False if another file is stored."""
        row = {"did": did, "versions": after.versions, "log_octets": after.log_octets, "encoded": after.encoded}
        statement, row = (_ADD, row) if before is None else (_REPLACE, row | {"before": before})
        return await self._database.write(lambda transaction: self._replaced(transaction, statement, row, event))

    def _replaced(
        self, transaction: Transaction, statement: str, row: Mapping[str, object], event: EventRecord | None
    ) -> bool:
        if transaction.execute(statement, row).rowcount != 1:
            return False
        self._activity.insert(transaction, () if event is None else (event,))
        return True
