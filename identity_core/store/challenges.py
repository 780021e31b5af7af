"""Issued challenges, and used challenges and tokens. README.md has the reasoning."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from identity_codec.times import micros
from identity_core.database import Transaction
from identity_core.ports.repositories import ChallengeOfferRow, ChallengeUseRow
from identity_core.store.records import Repository, Table, delete_first

_NUMBERS = """
SELECT number FROM spent_challenges WHERE saying = :saying AND number IS NOT NULL ORDER BY number DESC LIMIT :limit
"""
_OFFERED_CHALLENGES = Table("offered_challenges", ChallengeOfferRow, extra=["used"])
# By whether the address is the same. Each has an index that ends with the order. Of the newest 1,024 the newest of each address comes
# first, so that one address cannot displace those of the others.
_OFFERED = {
    own: f"SELECT {_OFFERED_CHALLENGES.columns}, ROW_NUMBER() OVER (PARTITION BY address ORDER BY offered_at DESC) AS place "  # noqa: S608
    f"FROM (SELECT * FROM offered_challenges WHERE scope = :scope AND used = :used AND address {is_it} :address ORDER BY offered_at DESC "
    "LIMIT 1024) AS newest ORDER BY place, offered_at DESC LIMIT :limit"
    for own, is_it in ((True, "="), (False, "<>"))
}
_FORGET_OFFERED = delete_first("offered_challenges", "expires_at <= :until ORDER BY expires_at")
_USED = "UPDATE offered_challenges SET used = 1 WHERE digest = :digest"
_CHALLENGES = Table("spent_challenges", ChallengeUseRow)
_SPEND_CHALLENGE = f"{_CHALLENGES.insert} ON CONFLICT DO NOTHING"
_FORGET_CHALLENGES = delete_first("spent_challenges", "expires_at <= :until ORDER BY expires_at")


class StoredSpentChallenges(Repository):
    """The port ``SpentChallenges`` on the tables of the store."""

    async def numbers(self, sayings: Sequence[bytes], *, limit: int) -> Sequence[Sequence[int]]:
        found = [await self._database.look_up(_NUMBERS, {"saying": one, "limit": limit}) for one in sayings]
        return [[row[0] for row in rows] for rows in found]

    async def offer(self, offered: ChallengeOfferRow) -> None:
        await self._change(_OFFERED_CHALLENGES.insert, _OFFERED_CHALLENGES.write(offered, used=0), durable=False)

    async def offered(
        self, scopes: Sequence[bytes], address: str, *, own: bool, used: bool, limit: int
    ) -> Sequence[ChallengeOfferRow]:
        wanted = {"address": address, "used": int(used), "limit": limit}
        queries = [self._database.look_up(_OFFERED[own], wanted | {"scope": one}) for one in scopes]
        rows = [(row[-1], _OFFERED_CHALLENGES.read(row[:-1])) for query in queries for row in await query]
        return [row for _, row in sorted(rows, key=lambda ranked: (ranked[0], -micros(ranked[1].offered_at)))[:limit]]

    async def spend(self, spent: ChallengeUseRow) -> bool:
        def use(transaction: Transaction) -> bool:
            parameters = _CHALLENGES.write(spent)
            is_first = transaction.execute(_SPEND_CHALLENGE, parameters).rowcount > 0
            transaction.execute(_USED, parameters)
            return is_first

        return await self._database.write(use)

    async def forget(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET_CHALLENGES, {"until": micros(until), "limit": limit})

    async def forget_offered(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET_OFFERED, {"until": micros(until), "limit": limit})
