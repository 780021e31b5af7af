"""Idempotency keys: one reservation a key, first answer kept. Bodies arrive sealed; only hashes of keys are stored."""

from __future__ import annotations

from datetime import datetime, timedelta

import orjson

from identity_core.database import Database, Transaction
from identity_core.ports.repositories import IdempotencyRecord, StoredAnswer
from identity_core.store.times import micros

LEASE = timedelta(seconds=60)
RETENTION = timedelta(hours=24)
PRUNED_AT_ONCE = 8

_PRUNE = """
DELETE FROM idempotency_keys WHERE key_hash IN (SELECT key_hash FROM idempotency_keys WHERE begun_at <= :kept_from
ORDER BY begun_at LIMIT :limit)
"""
# A reservation is taken over when its lease is up and nothing was answered, or when even the answer is past keeping.
_BEGIN = """
INSERT INTO idempotency_keys (key_hash, fingerprint, begun_at) VALUES (:key_hash, :fingerprint, :now)
ON CONFLICT (key_hash) DO UPDATE SET fingerprint = excluded.fingerprint, begun_at = excluded.begun_at, status = NULL,
headers = NULL, body = NULL
WHERE (idempotency_keys.status IS NULL AND idempotency_keys.begun_at <= :leased_from)
OR idempotency_keys.begun_at <= :kept_from
RETURNING begun_at
"""
_FIND = "SELECT fingerprint, status, headers, body FROM idempotency_keys WHERE key_hash = :key_hash"
_COMPLETE = """
UPDATE idempotency_keys SET status = :status, headers = :headers, body = :body, begun_at = :now
WHERE key_hash = :key_hash AND status IS NULL
"""
_ABANDON = "DELETE FROM idempotency_keys WHERE key_hash = :key_hash AND status IS NULL"


class StoredIdempotencyKeys:
    """The port ``IdempotencyKeys`` on the tables of the store."""

    def __init__(self, database: Database, *, lease: timedelta = LEASE, retention: timedelta = RETENTION) -> None:
        self._database = database
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
                transaction.execute(_PRUNE, parameters)
                return None
            known, status, headers, body = transaction.execute(_FIND, parameters).fetchone()
            if status is None:
                return IdempotencyRecord(known, None)
            pairs = tuple((name, value) for name, value in orjson.loads(bytes(headers)))
            return IdempotencyRecord(known, StoredAnswer(status, pairs, bytes(body)))

        return await self._database.write(reserve, durable=False)

    async def complete(self, key_hash: str, answer: StoredAnswer, now: datetime) -> None:
        parameters = {
            "key_hash": key_hash,
            "status": answer.status,
            "headers": orjson.dumps(answer.headers),
            "body": answer.body,
            "now": micros(now),
        }
        await self._database.write(lambda transaction: transaction.execute(_COMPLETE, parameters).rowcount)

    async def abandon(self, key_hash: str) -> None:
        parameters = {"key_hash": key_hash}
        await self._database.write(
            lambda transaction: transaction.execute(_ABANDON, parameters).rowcount, durable=False
        )

    async def forget(self, now: datetime, *, limit: int) -> int:
        parameters = {"kept_from": micros(now - self._retention), "limit": limit}
        job = self._database.write(lambda transaction: transaction.execute(_PRUNE, parameters).rowcount, durable=False)
        return await job
