"""The port of the replies of holders, which are stored for the short time until the agents fetch them."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from identity_core.values import value_class


@value_class
class ConsentReply:
    """A reply of a holder. ``digest`` identifies the request; the reply is ``sealed`` by the caller of the port."""

    digest: bytes
    sealed: bytes
    expires_at: datetime


class ConsentReplies(Protocol):
    """The first reply to each request."""

    async def keep(self, reply: ConsentReply) -> bool:
        """Store a reply, durable on return. Return False if the request has a reply."""
        ...

    async def find(self, digest: bytes) -> ConsentReply | None:
        """Return the reply to a request, also one that has expired and was not deleted yet."""
        ...

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` replies that expired at ``until`` or before. Return their number. Need not be durable."""
        ...
