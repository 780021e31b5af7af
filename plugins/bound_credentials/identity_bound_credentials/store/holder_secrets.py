"""The generation of each holder's secret. A change and its events are one transaction."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from identity_bbs.holders import FIRST, name_of
from identity_bound_credentials.ports import BoundCredential, SecretRotation, Tell
from identity_codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.store.events import StoredEvents

_GENERATION: Final = "SELECT generation FROM holder_secrets WHERE holder = :holder"
_ROTATE: Final = """
INSERT INTO holder_secrets (holder, generation, rotated_at) VALUES (:holder, :second, :now)
ON CONFLICT (holder) DO UPDATE SET generation = holder_secrets.generation + 1, rotated_at = excluded.rotated_at
"""
_FORMER: Final = """
FROM credentials WHERE holder = :holder AND holder_secret <> '' AND holder_secret <> :present AND forgotten_at IS NULL
AND status <> 'revoked' AND (valid_until IS NULL OR valid_until > :now)
"""
_LIST: Final = f"SELECT id, issuer, holder_secret {_FORMER} ORDER BY created_at, id LIMIT :limit + 1"
# What is not valid any more is forgotten as well: a clock may be set back.
_FORGET: Final = """
UPDATE credentials SET forgotten_at = :now
WHERE holder = :holder AND holder_secret <> '' AND holder_secret <> :present AND forgotten_at IS NULL
"""


class StoredHolderSecrets:
    """The generation of each holder's secret, 1 for a holder who never rotated. It never decreases."""

    def __init__(self, database: Database, activity: StoredEvents) -> None:
        self._database = database
        self._activity = activity

    async def generation(self, holder: str) -> int:
        """Return the current generation, for new credentials."""
        return await self._database.read(lambda transaction: _generation(transaction, holder))

    async def rotate(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
        """Begin and return the next generation, and at most ``limit`` of the credentials that stay bound to former ones, or to
        secrets that follow from another key of the custodian's than the present ``root``."""

        def change(transaction: Transaction) -> SecretRotation:
            transaction.execute(_ROTATE, {"holder": holder, "second": FIRST + 1, "now": micros(now)})
            found = _former(transaction, holder, root, now, limit)
            self._activity.insert(transaction, (tell(found),))
            return found

        return await self._database.write(change)

    async def forget(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
        """Forget everything that is bound to former generations: no proof of it can be made from then on. Return at most ``limit``
        of what was forgotten."""

        def change(transaction: Transaction) -> SecretRotation:
            found = _former(transaction, holder, root, now, limit)
            present = name_of(holder, found.generation, root)
            transaction.execute(_FORGET, {"holder": holder, "present": present, "now": micros(now)})
            self._activity.insert(transaction, (tell(found),))
            return found

        return await self._database.write(change)


def _generation(transaction: Transaction, holder: str) -> int:
    found = transaction.execute(_GENERATION, {"holder": holder}).fetchone()
    return FIRST if found is None else int(found[0])


def _former(transaction: Transaction, holder: str, root: int, now: datetime, limit: int) -> SecretRotation:
    generation = _generation(transaction, holder)
    wanted = {"holder": holder, "present": name_of(holder, generation, root), "now": micros(now), "limit": limit}
    rows = transaction.execute(_LIST, wanted).fetchall()
    return SecretRotation(generation, [BoundCredential(*row) for row in rows[:limit]], is_last=len(rows) <= limit)
