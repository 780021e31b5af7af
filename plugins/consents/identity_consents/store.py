"""The replies of holders in the table ``consent_replies``."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from identity_codec.times import micros
from identity_codec.values import value_class
from identity_core.store.records import Repository, Table, delete_first


@value_class
class ConsentReply:
    """A reply of a holder. ``digest`` identifies the request; the reply is ``sealed`` by the caller of the store."""

    digest: bytes
    sealed: bytes
    expires_at: datetime


TABLE: Final = "consent_replies"
_REPLIES: Final = Table(TABLE, ConsentReply)
_KEEP: Final = f"{_REPLIES.insert} ON CONFLICT DO NOTHING"
_FIND: Final = f"{_REPLIES.select} WHERE digest = :digest"
_FORGET: Final = delete_first(TABLE, "expires_at <= :until ORDER BY expires_at")


class StoredConsentReplies(Repository):
    """The first reply to each request, for the short time until the agent fetches it."""

    async def keep(self, reply: ConsentReply) -> bool:
        """Store a reply, durable on return. Return False if the request has a reply."""
        return await self._change(_KEEP, _REPLIES.write(reply)) > 0

    async def find(self, digest: bytes) -> ConsentReply | None:
        """Return the reply to a request, also one that has expired and was not deleted yet."""
        rows = await self._database.look_up(_FIND, {"digest": digest})
        return _REPLIES.read(rows[0]) if rows else None

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` replies that expired at ``until`` or before. Return their number. Need not be durable."""
        return await self._forget(_FORGET, {"until": micros(until), "limit": limit})
