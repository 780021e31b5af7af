"""The requests that wait for an answer, and the replies of holders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct

from identity_codec.times import micros
from identity_core.database import Transaction
from identity_core.store.records import Repository, Table, delete_first


class ConsentReply(Struct, frozen=True):
    """A reply of a holder. ``digest`` identifies the request; the reply is ``sealed`` by the caller of the store."""

    digest: bytes
    sealed: bytes
    expires_at: datetime


class StoredRequest(Struct, frozen=True):
    """A request of an ``agent`` to a holder (``consent``), or of a verifier to anyone who has its link (``proof``). ``owner`` is the
    holder or the verifier; ``result`` is the sealed answer, None before it. The id of a consent is the digest of its reply in hex."""

    id: str
    kind: str
    owner: str
    agent: str
    sealed: bytes
    result: bytes | None
    created_at: datetime
    expires_at: datetime


CONSENT: Final = "consent"
PROOF: Final = "proof"
KEPT: Final = timedelta(days=1)
"""The time for which a request is stored after its end."""

LISTED: Final = 100
"""Requests that a list contains."""

TABLE: Final = "consent_replies"
_REPLIES: Final = Table(TABLE, ConsentReply)
_KEEP: Final = f"{_REPLIES.insert} ON CONFLICT DO NOTHING"
_FIND: Final = f"{_REPLIES.select} WHERE digest = :digest"
_FORGET: Final = delete_first(TABLE, "expires_at <= :until ORDER BY expires_at")

_REQUESTS: Final = Table("consents_requests", StoredRequest)
_GET: Final = f"{_REQUESTS.select} WHERE id = :id AND kind = :kind"
_LIST: Final = f"{_REQUESTS.select} WHERE owner = :owner AND kind = :kind AND expires_at > :after ORDER BY created_at DESC, id LIMIT :limit"
_OPEN: Final = """
SELECT count(*), coalesce(sum(CASE WHEN agent = :agent THEN 1 ELSE 0 END), 0) FROM consents_requests
WHERE owner = :owner AND kind = :kind AND expires_at > :after AND result IS NULL
"""
_SETTLE: Final = "UPDATE consents_requests SET result = :result WHERE id = :id AND result IS NULL"
_DELETE: Final = "DELETE FROM consents_requests WHERE id = :id AND kind = :kind AND owner = :owner"
_FORGET_REQUESTS: Final = delete_first("consents_requests", "expires_at <= :until ORDER BY expires_at")


class StoredConsentReplies(Repository):
    """The first reply to each request, for the short time until the agent fetches it."""

    async def keep(self, reply: ConsentReply) -> bool:
        """Store a reply, durable on return, also in its request if that is listed. Return False if the request has a reply."""

        def write(transaction: Transaction) -> bool:
            if not transaction.execute(_KEEP, _REPLIES.write(reply)).rowcount:
                return False
            transaction.execute(_SETTLE, {"id": reply.digest.hex(), "result": reply.sealed})
            return True

        return await self._database.write(write)

    async def find(self, digest: bytes) -> ConsentReply | None:
        """Return the reply to a request, also one that has expired and was not deleted yet."""
        rows = await self._database.look_up(_FIND, {"digest": digest})
        return _REPLIES.read(rows[0]) if rows else None

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` replies that expired at ``until`` or before. Return their number. Need not be durable."""
        return await self._forget(_FORGET, {"until": micros(until), "limit": limit})


class StoredRequests(Repository):
    """Requests until a day after their end."""

    async def keep(self, request: StoredRequest, *, of_owner: int, of_agent: int) -> bool:
        """Store a request, durable on return. Return False if the owner, or the agent at this owner, has so many open ones."""

        def write(transaction: Transaction) -> bool:
            row = _REQUESTS.write(request)
            counted = {name: row[name] for name in ("owner", "kind", "agent")} | {"after": row["created_at"]}
            ((every, agents),) = transaction.execute(_OPEN, counted).fetchall()
            if every >= of_owner or agents >= of_agent:
                return False
            transaction.execute(_REQUESTS.insert, row)
            return True

        return await self._database.write(write)

    async def get(self, id: str, kind: str) -> StoredRequest | None:
        """Return a request, also an expired one."""
        rows = await self._rows(_GET, {"id": id.replace("\0", "\1"), "kind": kind})
        return _REQUESTS.read(rows[0]) if rows else None

    async def list(self, owner: str, kind: str, after: datetime) -> Sequence[StoredRequest]:
        """Return the newest requests of ``owner`` that end after ``after``, the newest first."""
        wanted = {"owner": owner, "kind": kind, "after": micros(after), "limit": LISTED}
        return [_REQUESTS.read(row) for row in await self._rows(_LIST, wanted)]

    async def settle(self, id: str, result: bytes) -> bool:
        """Store the answer, durable on return. Return False if there is one, or no such request."""
        return await self._change(_SETTLE, {"id": id, "result": result}) > 0

    async def delete(self, request: StoredRequest) -> None:
        """Delete a request, durable on return."""
        await self._change(_DELETE, {"id": request.id, "kind": request.kind, "owner": request.owner})

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` requests that expired at ``until`` or before. Return their number. Need not be durable."""
        return await self._forget(_FORGET_REQUESTS, {"until": micros(until), "limit": limit})
