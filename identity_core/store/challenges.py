"""Issued challenges, and used challenges and tokens. README.md has the reasoning."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from identity_codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.errors import Overloaded
from identity_core.ports.activity import VerifierChallenge
from identity_core.ports.repositories import ChallengeOfferRow, ChallengeUseRow
from identity_core.store.records import Repository, Table, delete_first

_NUMBERS = """
SELECT number FROM spent_challenges WHERE saying = :saying AND number IS NOT NULL ORDER BY number DESC LIMIT :limit
"""
_OFFERED_CHALLENGES = Table("offered_challenges", ChallengeOfferRow, extra=["used"])
# By whether the address is the same. Each has an index that ends with the order.
_OFFERED = {
    own: f"{_OFFERED_CHALLENGES.select} WHERE scope = :scope AND used = :used AND address {is_it} :address "
    "ORDER BY offered_at DESC LIMIT :limit"
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
        rows = [_OFFERED_CHALLENGES.read(row) for query in queries for row in await query]
        return sorted(rows, key=lambda row: row.offered_at, reverse=True)[:limit]

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


LIVE_PER_OWNER = 4096
PRUNED_AT_ONCE = 8

_PRUNE = delete_first("verifier_challenges", "spent = 0 AND expires_at <= :now ORDER BY expires_at")
_FORGET = delete_first("verifier_challenges", "spent = 1 AND expires_at <= :until ORDER BY expires_at")
_COUNT = """
SELECT count(*) FROM (SELECT 1 FROM verifier_challenges WHERE owner = :owner AND expires_at > :now LIMIT :most) AS live
"""
_OF_VERIFIERS = Table("verifier_challenges", VerifierChallenge, extra=("digest",))
_FIND = f"{_OF_VERIFIERS.select} WHERE digest = :digest"
_SPEND = """
UPDATE verifier_challenges SET spent = 1 WHERE digest = :digest AND spent = 0 AND expires_at > :now RETURNING spent
"""


class StoredVerifierChallenges(Repository):
    """The port ``VerifierChallenges`` on the tables of the store."""

    def __init__(self, database: Database, *, live_per_owner: int = LIVE_PER_OWNER) -> None:
        super().__init__(database)
        self._most = live_per_owner

    async def add(self, text: str, challenge: VerifierChallenge, now: datetime) -> None:
        row = _OF_VERIFIERS.write(challenge, digest=_digest(text))
        row |= {"now": micros(now), "limit": PRUNED_AT_ONCE, "most": self._most}
        await self._database.write(lambda transaction: self._add(transaction, row), durable=False)

    def _add(self, transaction: Transaction, row: dict[str, Any]) -> None:
        transaction.execute(_PRUNE[self._database.dialect], row)
        (live,) = transaction.execute(_COUNT, row).fetchone()
        if live >= self._most:
            raise Overloaded("Too many challenges of this verifier are live.", details={"retryAfter": 60})
        transaction.execute(_OF_VERIFIERS.insert, row)

    async def find(self, text: str) -> VerifierChallenge | None:
        rows = await self._database.look_up(_FIND, {"digest": _digest(text)})
        return _OF_VERIFIERS.read(rows[0]) if rows else None

    async def spend(self, text: str, now: datetime) -> bool:
        parameters = {"digest": _digest(text), "now": micros(now)}
        row = await self._database.write(lambda transaction: transaction.execute(_SPEND, parameters).fetchone())
        return row is not None

    async def forget(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET, {"until": micros(until), "limit": limit})


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
