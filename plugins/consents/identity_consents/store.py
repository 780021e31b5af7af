"""The replies of holders in the table ``consent_replies``."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from identity_consents.ports import ConsentReply
from identity_core.codec.times import micros
from identity_core.store.records import Repository, Table, delete_first

TABLE: Final = "consent_replies"
_REPLIES: Final = Table(TABLE, ConsentReply)
_KEEP: Final = f"{_REPLIES.insert} ON CONFLICT DO NOTHING"
_FIND: Final = f"{_REPLIES.select} WHERE digest = :digest"
_FORGET: Final = delete_first(TABLE, "expires_at <= :until ORDER BY expires_at")


class StoredConsentReplies(Repository):
    """The port ``ConsentReplies`` on the table."""

    async def keep(self, reply: ConsentReply) -> bool:
        return await self._change(_KEEP, _REPLIES.write(reply)) > 0

    async def find(self, digest: bytes) -> ConsentReply | None:
        rows = await self._database.look_up(_FIND, {"digest": digest})
        return _REPLIES.read(rows[0]) if rows else None

    async def forget(self, until: datetime, *, limit: int) -> int:
        return await self._forget(_FORGET, {"until": micros(until), "limit": limit})
