"""The authentication tag of a row: BLAKE2b with a key that is derived from one of the custodian's (RFC 7693 §2.5, RFC 5869).

A row of the document index has a tag over all of its columns, a head of the audit log a tag over the length of the chain. An attacker who
can write to the database, but does not hold the custodian's keys, cannot compute a tag. Tags do not detect that an old row was restored,
or that a row was deleted; the comparison with the ledger does.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, Final

from identity_codec.sealing import derive_key
from identity_codec.times import micros
from identity_core.database import Database, Transaction
from identity_core.domain.callers import ApiKey
from identity_core.ports.key_store import PendingTag
from identity_core.store.records import Repository

TAG_BYTES: Final = 32
_VERSION: Final = struct.Struct(">5q7I")
_ABSENT: Final = 0xFFFFFFFF


class RowMac:
    """The tags for rows of one kind. ``secret`` has full entropy; ``info`` names the kind."""

    def __init__(self, secret: bytes, info: bytes) -> None:
        self._keyed = hashlib.blake2b(key=derive_key(secret, info=info), digest_size=TAG_BYTES)

    def tag(self, data: bytes) -> bytes:
        """Return the tag of 32 bytes for an unambiguous encoding of a row."""
        keyed = self._keyed.copy()
        keyed.update(data)
        return keyed.digest()

    def holds(self, data: bytes, tag: object) -> bool:
        """Return whether ``tag`` is the tag of these bytes."""
        return isinstance(tag, bytes | memoryview) and hmac.compare_digest(self.tag(data), bytes(tag))


def version_octets(row: Sequence[Any]) -> bytes:
    """Return the encoding of a row of ``did_versions``: did, version_id, printed_second, sequence, block_number, recorded_at,
    transaction_hash, state, document, changes, key_id, owner. Raises ``TypeError``, ``struct.error`` or ``AttributeError``: when a
    column has another type, so that this service did not write the row."""
    did, version_id, second, sequence, block, at, digest, state, document, changes, key_id, owner = row
    name = did.encode()
    key_length, key = _optional(key_id)
    owner_length, owned = _optional(owner)
    lengths = (len(name), key_length, owner_length, len(digest), len(state), len(document), len(changes))
    fixed = _VERSION.pack(version_id, second, sequence, block, at, *lengths)
    return b"".join((fixed, name, key, owned, digest, state, document, changes))


def _optional(text: Any) -> tuple[int, bytes]:
    """Return the length and bytes of an optional text. The length of a missing text differs from that of an empty one."""
    if text is None:
        return _ABSENT, b""
    data: bytes = text.encode()
    return len(data), data


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
    """The port ``KeyTags`` on the tables of the store. ``random`` returns bytes that distinguish writers."""

    def __init__(self, database: Database, secret: bytes, random: Callable[[int], bytes]) -> None:
        super().__init__(database)
        self._mac = RowMac(secret, b"identity api_key_tags v1")
        self._random = random

    async def holds(self, key: ApiKey) -> bool:
        try:
            data = key_octets(key)
        except (TypeError, ValueError, AttributeError, OverflowError):
            # The fields have types that this service never writes: a key store can be edited by hand.
            return False
        return any(self._mac.holds(data, row[0]) for row in await self._rows(_TAGS, {"key_id": key.id}))

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

    async def read_key_ids(self) -> frozenset[str]:
        return frozenset(str(row[0]) for row in await self._rows(_KNOWN, {}))

    def _row(self, key: ApiKey, pending_since: int | None) -> dict[str, object]:
        number, tag = self._random(_NUMBER_BYTES), self._mac.tag(key_octets(key))
        return {"key_id": key.id, "number": number, "tag": tag, "pending_since": pending_since}


def key_octets(key: ApiKey) -> bytes:
    """Return the encoding of all fields of a key; equal keys have equal encodings. ``source`` is omitted, as it belongs to the store."""
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
