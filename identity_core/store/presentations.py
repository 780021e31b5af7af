"""Requests for presentations, the answers of wallets, and the answers of holders to agents."""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import Any, Final

from identity_core.codec.times import micros
from identity_core.database import Transaction
from identity_core.errors import Overloaded
from identity_core.ports.consents import ConsentReply
from identity_core.ports.presentations import StoredPresentation
from identity_core.store.records import Repository, Table, delete_first

LIVE_PER_OWNER: Final = 4_096

_REQUESTS = Table("presentation_requests", StoredPresentation, extra=("digest",))
_COUNT = """
SELECT count(*) FROM (SELECT 1 FROM presentation_requests WHERE owner = :owner AND expires_at > :now LIMIT :most) AS live
"""
_FIND = f"{_REQUESTS.select} WHERE digest = :digest"
_ANSWER = """
UPDATE presentation_requests SET answer = :answer WHERE digest = :digest AND answer IS NULL AND expires_at > :now
"""
_REPLIES: Final = Table("consent_replies", ConsentReply)
_KEEP_REPLY: Final = f"{_REPLIES.insert} ON CONFLICT DO NOTHING"
_FIND_REPLY: Final = f"{_REPLIES.select} WHERE digest = :digest"
_FORGET_REPLIES: Final = delete_first("consent_replies", "expires_at <= :until ORDER BY expires_at")
_FORGET = delete_first("presentation_requests", "expires_at <= :until ORDER BY expires_at")


class StoredPresentations(Repository):
    """The port ``Presentations`` on the tables of the store."""

    async def add(self, request_id: str, stored: StoredPresentation, now: datetime) -> None:
        row = _REQUESTS.write(stored, digest=_digest(request_id)) | {"now": micros(now), "most": LIVE_PER_OWNER}
        await self._database.write(lambda transaction: _add(transaction, row), durable=False)

    async def find(self, request_id: str) -> StoredPresentation | None:
        rows = await self._database.look_up(_FIND, {"digest": _digest(request_id)})
        return _REQUESTS.read(rows[0]) if rows else None

    async def answer(self, request_id: str, answer: bytes, now: datetime) -> bool:
        return await self._change(_ANSWER, {"digest": _digest(request_id), "answer": answer, "now": micros(now)}) == 1

    async def forget(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET, {"until": micros(until), "limit": limit})


def _add(transaction: Transaction, row: dict[str, Any]) -> None:
    (live,) = transaction.execute(_COUNT, row).fetchone()
    if live >= row["most"]:
        raise Overloaded("Too many requests of this verifier are live.", details={"retryAfter": 60})
    transaction.execute(_REQUESTS.insert, row)


def _digest(request_id: str) -> bytes:
    return hashlib.sha256(request_id.encode()).digest()


class StoredConsentReplies(Repository):
    """The port ``ConsentReplies`` on the tables of the store."""

    async def keep(self, reply: ConsentReply) -> bool:
        return await self._change(_KEEP_REPLY, _REPLIES.write(reply)) > 0

    async def find(self, digest: bytes) -> ConsentReply | None:
        rows = await self._database.look_up(_FIND_REPLY, {"digest": digest})
        return _REPLIES.read(rows[0]) if rows else None

    async def forget(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET_REPLIES, {"until": micros(until), "limit": limit})
