"""What requests leave behind: Idempotency-Keys, spent challenges, and how much each caller wrote."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from identity_core.codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.errors import QuotaExceeded
from identity_core.ports.api_keys import KEPT, Charge
from identity_core.ports.repositories import ChallengeUseRow, IdempotencyRecord, StoredAnswer
from identity_core.store.records import Repository, Table, delete_first

LEASE = timedelta(seconds=60)
RETENTION = timedelta(hours=24)
PRUNED_AT_ONCE = 8

_ANSWERS = Table("idempotency_keys", StoredAnswer)
_FORGET_KEYS = delete_first("idempotency_keys", "begun_at <= :kept_from ORDER BY begun_at")
# A reservation is taken over when its lease is up and nothing was answered, or when even the answer is past keeping.
_BEGIN = """
INSERT INTO idempotency_keys (key_hash, fingerprint, begun_at) VALUES (:key_hash, :fingerprint, :now)
ON CONFLICT (key_hash) DO UPDATE SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, status = NULL,
headers = NULL, body = NULL
WHERE (idempotency_keys.status IS NULL AND idempotency_keys.begun_at <= :leased_from)
OR idempotency_keys.begun_at <= :kept_from
RETURNING begun_at
"""
_FIND = f"SELECT fingerprint, {_ANSWERS.columns} FROM idempotency_keys WHERE key_hash = :key_hash"  # noqa: S608 - made of constants
_COMPLETE = """
UPDATE idempotency_keys SET status = :status, headers = :headers, body = :body, begun_at = :now
WHERE key_hash = :key_hash AND status IS NULL
"""
_ABANDON = "DELETE FROM idempotency_keys WHERE key_hash = :key_hash AND status IS NULL"


class StoredIdempotencyKeys(Repository):
    """The port ``IdempotencyKeys`` on the tables of the store."""

    def __init__(self, database: Database, *, lease: timedelta = LEASE, retention: timedelta = RETENTION) -> None:
        super().__init__(database)
        self._lease = lease
        self._retention = retention

    async def begin(self, key_hash: str, fingerprint: str, now: datetime) -> IdempotencyRecord | None:
        parameters = {
            "key_hash": key_hash,
            "fingerprint": fingerprint,
            "now": micros(now),
            "leased_from": micros(now - self._lease),
            "kept_from": micros(now - self._retention),
            "limit": PRUNED_AT_ONCE,
        }

        def reserve(transaction: Transaction) -> IdempotencyRecord | None:
            if transaction.execute(_BEGIN, parameters).fetchone() is not None:
                transaction.execute(_FORGET_KEYS[self._database.dialect], parameters)
                return None
            known, *answer = transaction.execute(_FIND, parameters).fetchone()
            return IdempotencyRecord(known, None if answer[0] is None else _ANSWERS.read(answer))

        return await self._database.write(reserve, durable=False)

    async def complete(self, key_hash: str, answer: StoredAnswer, now: datetime) -> None:
        await self._change(_COMPLETE, _ANSWERS.write(answer, key_hash=key_hash, now=micros(now)))

    async def abandon(self, key_hash: str) -> None:
        await self._change(_ABANDON, {"key_hash": key_hash}, durable=False)

    async def forget(self, now: datetime, *, limit: int) -> int:
        parameters = {"kept_from": micros(now - self._retention), "limit": limit}
        return await self._forget(_FORGET_KEYS, parameters)


_NUMBERS = """
SELECT number FROM spent_challenges WHERE saying = :saying AND number IS NOT NULL ORDER BY number DESC LIMIT :limit
"""
_CHALLENGES = Table("spent_challenges", ChallengeUseRow)
_SPEND_CHALLENGE = f"{_CHALLENGES.insert} ON CONFLICT DO NOTHING"
_FORGET_CHALLENGES = delete_first("spent_challenges", "expires_at <= :until ORDER BY expires_at")


class StoredSpentChallenges(Repository):
    """The port ``SpentChallenges`` on the tables of the store."""

    async def numbers(self, sayings: Sequence[bytes], *, limit: int) -> Sequence[Sequence[int]]:
        def read(transaction: Transaction) -> list[list[int]]:
            rows = (transaction.execute(_NUMBERS, {"saying": one, "limit": limit}).fetchall() for one in sayings)
            return [[row[0] for row in found] for found in rows]

        return await self._database.read(read)

    async def spend(self, spent: ChallengeUseRow) -> bool:
        return await self._change(_SPEND_CHALLENGE, _CHALLENGES.write(spent)) > 0

    async def forget(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET_CHALLENGES, {"until": micros(until), "limit": limit})


_UNLIMITED: Final = 1 << 62

_CHARGE = """
INSERT INTO usage (owner, day, records, octets) SELECT :owner, :day, 1, :octets WHERE :octets <= :most_octets
ON CONFLICT (owner, day) DO UPDATE SET records = usage.records + 1, octets = usage.octets + excluded.octets
WHERE usage.records < :most_records AND usage.octets + excluded.octets <= :most_octets
RETURNING records
"""
_REFUND = """
UPDATE usage SET records = records - 1, octets = octets - :octets WHERE owner = :owner AND day = :day
"""
_FORGET_USAGE = delete_first("usage", "day > :kept AND day < :before ORDER BY day")


class StoredUsage(Repository):
    """The port ``Usage`` on the tables of the store."""

    async def charge(self, charges: Sequence[Charge]) -> None:
        if not charges:
            return
        await self._database.write(lambda transaction: self._charge(transaction, charges), durable=False)

    def _charge(self, transaction: Transaction, charges: Sequence[Charge]) -> None:
        for charge in charges:
            row = {
                "owner": charge.owner,
                "day": charge.day,
                "octets": charge.octets,
                "most_records": _UNLIMITED if charge.most_records is None else charge.most_records,
                "most_octets": _UNLIMITED if charge.most_octets is None else charge.most_octets,
            }
            # One that raises is undone alone, and with it what the charges before it have counted.
            if transaction.execute(_CHARGE, row).fetchone() is None:
                limits = {"records": charge.most_records, "octets": charge.most_octets}
                raise QuotaExceeded(details={"quota": charge.name, **limits})

    async def refund(self, charge: Charge) -> None:
        row = {"owner": charge.owner, "day": charge.day, "octets": charge.octets}
        await self._change(_REFUND, row, durable=False)

    async def forget(self, before_day: int, *, limit: int) -> int:
        parameters = {"kept": KEPT, "before": before_day, "limit": limit}
        return await self._forget(_FORGET_USAGE, parameters)
