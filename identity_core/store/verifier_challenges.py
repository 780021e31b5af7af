"""The challenges of verifiers in the store, by the SHA-256 of their text. An owner can crowd out nobody but itself.

One that was spent stays as long as the proof that answered it can be good: it tells who may ask for its status.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any

from identity_core.database import Database, Transaction
from identity_core.errors import Overloaded
from identity_core.ports.verifications import VerifierChallenge
from identity_core.store.times import micros, moment

LIVE_PER_OWNER = 4096
PRUNED_AT_ONCE = 8

_PRUNE = """
DELETE FROM verifier_challenges
WHERE digest IN (SELECT digest FROM verifier_challenges WHERE spent = 0 AND expires_at <= :now LIMIT :pruned)
"""
_FORGET = """
DELETE FROM verifier_challenges
WHERE digest IN (SELECT digest FROM verifier_challenges WHERE spent = 1 AND expires_at <= :until LIMIT :limit)
"""
_COUNT = """
SELECT count(*) FROM (SELECT 1 FROM verifier_challenges WHERE owner = :owner AND expires_at > :now LIMIT :most) AS live
"""
_INSERT = """
INSERT INTO verifier_challenges (digest, owner, domain, expires_at, spent)
VALUES (:digest, :owner, :domain, :expires_at, 0)
"""
_FIND = "SELECT owner, domain, expires_at, spent FROM verifier_challenges WHERE digest = :digest"
_SPEND = """
UPDATE verifier_challenges SET spent = 1 WHERE digest = :digest AND spent = 0 AND expires_at > :now RETURNING spent
"""


class StoredVerifierChallenges:
    """The port ``VerifierChallenges`` on the tables of the store."""

    def __init__(self, database: Database, *, live_per_owner: int = LIVE_PER_OWNER) -> None:
        self._database = database
        self._most = live_per_owner

    async def add(self, text: str, challenge: VerifierChallenge, now: datetime) -> None:
        row = {
            "digest": _digest(text),
            "owner": challenge.owner,
            "domain": challenge.domain,
            "expires_at": micros(challenge.expires_at),
            "now": micros(now),
            "pruned": PRUNED_AT_ONCE,
            "most": self._most,
        }
        await self._database.write(lambda transaction: self._add(transaction, row), durable=False)

    def _add(self, transaction: Transaction, row: dict[str, Any]) -> None:
        transaction.execute(_PRUNE, row)
        (live,) = transaction.execute(_COUNT, row).fetchone()
        if live >= self._most:
            raise Overloaded("Too many challenges of this verifier are live.", details={"retryAfter": 60})
        transaction.execute(_INSERT, row)

    async def find(self, text: str) -> VerifierChallenge | None:
        parameters = {"digest": _digest(text)}
        row = await self._database.read(lambda transaction: transaction.execute(_FIND, parameters).fetchone())
        return None if row is None else VerifierChallenge(row[0], row[1], moment(row[2]), bool(row[3]))

    async def spend(self, text: str, now: datetime) -> bool:
        parameters = {"digest": _digest(text), "now": micros(now)}
        row = await self._database.write(lambda transaction: transaction.execute(_SPEND, parameters).fetchone())
        return row is not None

    async def forget(self, until: datetime, *, limit: int) -> int:
        """See ``VerifierChallenges.forget``."""
        parameters = {"until": micros(until), "limit": limit}
        return await self._database.write(
            lambda transaction: transaction.execute(_FORGET, parameters).rowcount, durable=False
        )


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()
