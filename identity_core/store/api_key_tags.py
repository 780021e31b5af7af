"""The tags of API keys: which states of a key in the key store are those that this service left there.

They lie in the store and the keys in a database of their own, so that either alone, edited or put back from a backup, contradicts the
other. The two are not written in one transaction: a change is announced, made and then settled, and until then both states
hold. What ends the process in between leaves a tag too many, which the next inspection takes away.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from identity_codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.domain.callers import ApiKey
from identity_core.ports.api_keys import PendingTag
from identity_core.store.records import Repository
from identity_core.store.row_mac import RowMac

_NUMBER_BYTES: Final = 16

_TAGS = "SELECT tag FROM api_key_tags WHERE key_id = :key_id"
_KNOWN = "SELECT DISTINCT key_id FROM api_key_tags WHERE pending_since IS NULL"
_CLEAR = "DELETE FROM api_key_tags"
_ADD = """
INSERT INTO api_key_tags (key_id, number, tag, pending_since) VALUES (:key_id, :number, :tag, :pending_since)
"""
_SETTLE = "UPDATE api_key_tags SET pending_since = NULL WHERE key_id = :key_id AND number = :number"
_SETTLE_TAG = "UPDATE api_key_tags SET pending_since = NULL WHERE key_id = :key_id AND tag = :tag"
_WITHDRAW = "DELETE FROM api_key_tags WHERE key_id = :key_id AND number = :number"
_FORGET = "DELETE FROM api_key_tags WHERE key_id = :key_id AND tag = :tag"
_FORGET_OTHERS = """
DELETE FROM api_key_tags WHERE key_id = :key_id AND tag <> :tag AND (pending_since IS NULL OR pending_since <= :before)
"""


class ApiKeyTags(Repository):
    """See ``KeyTags``. ``random`` gives octets that tell writers apart."""

    def __init__(self, database: Database, secret: bytes, random: Callable[[int], bytes]) -> None:
        super().__init__(database)
        self._mac = RowMac(secret, b"identity api_key_tags v1")
        self._random = random

    async def holds(self, key: ApiKey) -> bool:
        try:
            octets = key_octets(key)
        except (TypeError, ValueError, AttributeError, OverflowError):
            # Of other types than any that is written: who edits a key store leaves whatever there.
            return False
        return any(self._mac.holds(octets, row[0]) for row in await self._rows(_TAGS, {"key_id": key.id}))

    async def announce(self, key: ApiKey, now: datetime) -> PendingTag:
        pending = PendingTag(key.id, self._random(_NUMBER_BYTES))
        await self._change(_ADD, self._row(key, micros(now)) | _place(pending))
        return pending

    async def settle(self, pending: PendingTag, replaced: ApiKey | None) -> None:
        def settle(transaction: Transaction) -> int:
            if replaced is not None:
                transaction.execute(_FORGET, self._row(replaced, None))
            return transaction.execute(_SETTLE, _place(pending)).rowcount

        await self._database.write(settle)

    async def withdraw(self, pending: PendingTag) -> None:
        await self._change(_WITHDRAW, _place(pending))

    async def accept(self, keys: Sequence[ApiKey]) -> None:
        rows = [self._row(key, None) for key in keys]

        def accept(transaction: Transaction) -> int:
            transaction.execute(_CLEAR)
            return sum(transaction.execute(_ADD, row).rowcount for row in rows)

        await self._database.write(accept)

    async def keep_only(self, key: ApiKey, before: datetime) -> None:
        row = self._row(key, None) | {"before": micros(before)}

        def keep(transaction: Transaction) -> int:
            transaction.execute(_SETTLE_TAG, row)
            return transaction.execute(_FORGET_OTHERS, row).rowcount

        rows = await self._rows(_TAGS, {"key_id": key.id})
        if len(rows) > 1:
            await self._database.write(keep)

    async def known(self) -> frozenset[str]:
        return frozenset(str(row[0]) for row in await self._rows(_KNOWN, {}))

    def _row(self, key: ApiKey, pending_since: int | None) -> dict[str, object]:
        number, tag = self._random(_NUMBER_BYTES), self._mac.tag(key_octets(key))
        return {"key_id": key.id, "number": number, "tag": tag, "pending_since": pending_since}


def key_octets(key: ApiKey) -> bytes:
    """The encoding of everything that a key says; equal keys have equal ones. ``source`` is the key store's own business."""
    said = (
        *(key.id, key.name, key.digest),
        None if key.scopes is None else sorted(key.scopes),
        None if key.allowed_targets is None else sorted(key.allowed_targets),
        None if key.requests_per_second is None else float(key.requests_per_second),
        None if key.burst is None else int(key.burst),
        micros(key.created_at),
        None if key.expires_at is None else micros(key.expires_at),
        None if key.revoked_at is None else micros(key.revoked_at),
        key.lineage,
    )
    return json.dumps(said).encode()


def _place(pending: PendingTag) -> dict[str, object]:
    return {"key_id": pending.key_id, "number": pending.number}
