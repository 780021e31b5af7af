"""The port ``HolderSecretGenerations`` on the tables of the store: a change and what tells of it are one transaction. Also the tags by
which an issuer recognises its holders (PROTOCOL-2.md §3.3).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from identity_codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.domain.credentials.holder_secret import FIRST, name_of
from identity_core.errors import Conflict
from identity_core.ports.holder_secrets import BoundCredential, SecretRotation, Tell
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
_TAG: Final = "SELECT tag FROM holder_tags WHERE issuer = :issuer AND holder = :holder ORDER BY number DESC LIMIT 1"
# Of credentials without a recorded tag, the name of the secret tells whether it is the same; a wallet's has none.
_OTHERS: Final = """
SELECT 1 FROM credentials WHERE issuer = :issuer AND holder = :holder
AND (holder_secret = '' OR holder_secret <> :holder_secret) LIMIT 1
"""
_PUT_TAG: Final = """
INSERT INTO holder_tags (issuer, tag, holder, number)
SELECT :issuer, :tag, :holder, coalesce(max(number), 0) + 1 FROM holder_tags WHERE issuer = :issuer AND holder = :holder
ON CONFLICT (issuer, tag) DO UPDATE SET number = excluded.number WHERE holder_tags.holder = excluded.holder
"""
_REPLACED: Final = (
    "Make sure that the holder replaced it, and revoke what is bound to it; then send newHolderSecret: true."
)
_HANDED_ON: Final = "It was handed on or stolen: issue nothing until the holder has replaced the secret."


def check_tag(transaction: Transaction, row: Mapping[str, object]) -> int:
    """Compare the holder's ``tag`` with the one that is recorded for the issuer, and record it. Return 1 if the secret is another one
    than before, otherwise 0.

    ``row``: a bound credential's columns. A ``tag`` of None is unknown. ``secret_replaced`` states that another secret is accepted.
    Raises ``Conflict``: for another secret that is not accepted, and for the tag of another holder."""
    found = transaction.execute(_TAG, row).fetchone()
    known = None if found is None else bytes(found[0])
    is_other = transaction.execute(_OTHERS, row).fetchone() if known is None else known != row["tag"]
    if is_other and not row["secret_replaced"]:
        raise Conflict("The holder has credentials of this issuer on another secret.", details={"remedy": _REPLACED})
    if row["tag"] not in (None, known) and not transaction.execute(_PUT_TAG, row).rowcount:
        raise Conflict("Another holder of this issuer has this secret.", details={"remedy": _HANDED_ON})
    return int(bool(is_other))


class StoredHolderSecrets:
    """The port ``HolderSecretGenerations`` on the tables of the store."""

    def __init__(self, database: Database, activity: StoredEvents) -> None:
        self._database = database
        self._activity = activity

    async def generation(self, holder: str) -> int:
        return await self._database.read(lambda transaction: _generation(transaction, holder))

    async def rotate(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
        def change(transaction: Transaction) -> SecretRotation:
            transaction.execute(_ROTATE, {"holder": holder, "second": FIRST + 1, "now": micros(now)})
            found = _former(transaction, holder, root, now, limit)
            self._activity.insert(transaction, (tell(found),))
            return found

        return await self._database.write(change)

    async def forget(self, holder: str, root: int, now: datetime, tell: Tell, *, limit: int) -> SecretRotation:
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
