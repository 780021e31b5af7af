"""Requests for presentations and the answers of wallets, in the table ``presentation_requests`` of the kernel's migrations."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final

from msgspec import Struct

from identity_codec.times import micros
from identity_core.database import Transaction
from identity_core.errors import Overloaded
from identity_core.store.records import Repository, Table, delete_first

LIVE_PER_OWNER: Final = 4_096


class StoredPresentation(Struct, frozen=True):
    """A request of ``owner`` (``Caller.owner``) and its answer, None while there is none. The caller of the store seals both."""

    owner: str
    request: bytes
    expires_at: datetime
    answer: bytes | None = None


_REQUESTS = Table("presentation_requests", StoredPresentation, extra=("digest",))
_COUNT = """
SELECT count(*) FROM (SELECT 1 FROM presentation_requests WHERE owner = :owner AND expires_at > :now LIMIT :most) AS live
"""
_FIND = f"{_REQUESTS.select} WHERE digest = :digest"
_ANSWER = """
UPDATE presentation_requests SET answer = :answer WHERE digest = :digest AND answer IS NULL AND expires_at > :now
"""
_FORGET = delete_first("presentation_requests", "expires_at <= :until ORDER BY expires_at")


class StoredPresentations(Repository):
    """Requests by their id, which is not stored."""

    async def add(self, request_id: str, stored: StoredPresentation, now: datetime) -> None:
        """Store a request, not durably. Raises ``Overloaded``: when far too many of this owner are live."""
        row = _REQUESTS.write(stored, digest=_digest(request_id)) | {"now": micros(now), "most": LIVE_PER_OWNER}
        await self._database.write(lambda transaction: _add(transaction, row), durable=False)

    async def find(self, request_id: str) -> StoredPresentation | None:
        """Return what is stored of a request, or None."""
        rows = await self._database.look_up(_FIND, {"digest": _digest(request_id)})
        return _REQUESTS.read(rows[0]) if rows else None

    async def answer(self, request_id: str, answer: bytes, now: datetime) -> bool:
        """Store the answer by one guarded statement, durable on return: exactly one of many callers gets True, and none from the end of the
        request on."""
        return await self._change(_ANSWER, {"digest": _digest(request_id), "answer": answer, "now": micros(now)}) == 1

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` requests that had expired by then. Return how many there were."""
        return await self._forget(_FORGET, {"until": micros(until), "limit": limit})


def _add(transaction: Transaction, row: dict[str, Any]) -> None:
    (live,) = transaction.execute(_COUNT, row).fetchone()
    if live >= row["most"]:
        raise Overloaded("Too many requests of this verifier are live.", details={"retryAfter": 60})
    transaction.execute(_REQUESTS.insert, row)


def _digest(request_id: str) -> bytes:
    return hashlib.sha256(request_id.encode()).digest()
