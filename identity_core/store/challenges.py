"""Challenges in the store: who floods them neither evicts anybody's nor locks anybody out. README.md has the reasoning."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from identity_core.database import Database, Transaction
from identity_core.domain.errors import Overloaded
from identity_core.ports.repositories import Challenge
from identity_core.store.refusals import translated
from identity_core.store.times import micros, moment

UNBOUND = "-"
BOUND_PER_DID = 4096
PRUNED_AT_ONCE = 8

_SAME = """
SELECT text, did, expires_at FROM challenges WHERE did = :did AND body_hash = :body_hash AND purpose = :purpose
AND origin = :origin AND spent = 0 AND expires_at > :now ORDER BY expires_at DESC, digest DESC LIMIT :cap
"""
_COUNT_BOUND = """
SELECT count(*), max(expires_at) FROM (SELECT expires_at FROM challenges WHERE did = :did AND spent = 0
AND expires_at > :now AND NOT (body_hash = '-' AND purpose = '-') LIMIT :limit) AS live
"""
_INSERT = """
INSERT INTO challenges (digest, did, origin, purpose, body_hash, text, expires_at, spent)
VALUES (:digest, :did, :origin, :purpose, :body_hash, :text, :expires_at, 0)
"""
_PRUNE = "DELETE FROM challenges WHERE digest IN (SELECT digest FROM challenges WHERE expires_at <= :now LIMIT :limit)"
_LIVE = """
SELECT text, did, expires_at FROM challenges WHERE did = :did AND body_hash IN ('-', :body_hash)
AND purpose IN ('-', :purpose) AND spent = 0 AND expires_at > :now ORDER BY expires_at, digest
"""
_CONSUME = """
UPDATE challenges SET spent = 1 WHERE digest = :digest AND spent = 0 AND expires_at > :now RETURNING spent
"""


class StoredChallenges:
    """See ``Challenges``."""

    def __init__(self, database: Database, *, bound_per_did: int = BOUND_PER_DID) -> None:
        self._database = database
        self._bound_per_did = bound_per_did

    async def live(self, did: str, now: datetime, *, purpose: str, body_hash: str | None) -> Sequence[Challenge]:
        """See ``Challenges.live``."""
        parameters = {"did": did, "purpose": purpose, "body_hash": body_hash or UNBOUND, "now": micros(now)}
        with translated:
            rows = await self._database.read(lambda transaction: transaction.execute(_LIVE, parameters).fetchall())
        return [_challenge(row) for row in rows]

    async def add(self, challenge: Challenge, now: datetime, *, cap: int) -> Challenge:
        """See ``Challenges.add``. Raises ``Overloaded``."""
        # The fields of domain/challenge.py; who built the text has checked them.
        _, origin, _, purpose, body_hash, _, _ = challenge.text.split(" ")
        row = {
            "digest": _digest(challenge.text),
            "did": challenge.did,
            "origin": origin,
            "purpose": purpose,
            "body_hash": body_hash,
            "text": challenge.text,
            "expires_at": micros(challenge.expires_at),
            "now": micros(now),
            "cap": cap,
            "limit": self._bound_per_did,
        }
        with translated:
            other = await self._database.write(lambda transaction: self._add(transaction, row), durable=False)
        return challenge if other is None else _challenge(other)

    def _add(self, transaction: Transaction, row: dict[str, Any]) -> Any:
        """Inserts ``row`` and returns None, or returns the row to be handed out instead."""
        transaction.execute(_PRUNE, {"now": row["now"], "limit": PRUNED_AT_ONCE})
        same = transaction.execute(_SAME, row).fetchall()
        if len(same) >= row["cap"]:
            return same[0]
        if (row["purpose"], row["body_hash"]) != (UNBOUND, UNBOUND):
            count, latest = transaction.execute(_COUNT_BOUND, row).fetchone()
            if count >= self._bound_per_did:
                raise Overloaded(
                    "Too many bound challenges of this DID are live; an unbound one can still be had.",
                    details={"did": row["did"], "retryAfter": -((row["now"] - latest) // 1_000_000)},
                )
        transaction.execute(_INSERT, row)
        return None

    async def consume(self, text: str, now: datetime) -> bool:
        """See ``Challenges.consume``."""
        parameters = {"digest": _digest(text), "now": micros(now)}
        with translated:
            row = await self._database.write(lambda transaction: transaction.execute(_CONSUME, parameters).fetchone())
        return row is not None


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _challenge(row: Any) -> Challenge:
    text, did, expires_at = row
    return Challenge(text, did, moment(expires_at))
