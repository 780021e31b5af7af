"""Spent challenges in the store: one row for each, which nobody but a DID's controller can cause. README.md has the reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from identity_core.database import Database, Transaction
from identity_core.ports.repositories import ChallengeUseRow
from identity_core.store.times import micros

_NUMBERS = """
SELECT number FROM spent_challenges WHERE saying = :saying AND number IS NOT NULL ORDER BY number DESC LIMIT :limit
"""
_SPEND = """
INSERT INTO spent_challenges (digest, saying, number, expires_at) VALUES (:digest, :saying, :number, :expires_at)
ON CONFLICT DO NOTHING
"""
_FORGET = """
DELETE FROM spent_challenges WHERE digest IN
(SELECT digest FROM spent_challenges WHERE expires_at <= :until ORDER BY expires_at LIMIT :limit)
"""


class StoredSpentChallenges:
    """The port ``SpentChallenges`` on the tables of the store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def numbers(self, sayings: Sequence[bytes], *, limit: int) -> Sequence[Sequence[int]]:
        def read(transaction: Transaction) -> list[list[int]]:
            rows = (transaction.execute(_NUMBERS, {"saying": one, "limit": limit}).fetchall() for one in sayings)
            return [[row[0] for row in found] for found in rows]

        return await self._database.read(read)

    async def spend(self, spent: ChallengeUseRow) -> bool:
        row = {
            "digest": spent.digest,
            "saying": spent.saying,
            "number": spent.number,
            "expires_at": micros(spent.expires_at),
        }
        return await self._database.write(lambda transaction: transaction.execute(_SPEND, row).rowcount) > 0

    async def forget(self, until: datetime, *, limit: int) -> int:
        parameters = {"until": micros(until), "limit": limit}
        job = self._database.write(lambda transaction: transaction.execute(_FORGET, parameters).rowcount, durable=False)
        return await job
