"""What holders have answered agents on their pages, for the short time until the agents fetch it."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from identity_core.values import value_class


@value_class
class ConsentReply:
    """``digest`` names the request that was answered; the answer is ``sealed`` by the caller of the port."""

    digest: bytes
    sealed: bytes
    expires_at: datetime


class ConsentReplies(Protocol):
    """One answer a request, the first one."""

    async def keep(self, reply: ConsentReply) -> bool:
        """Durable on return. False where the request has been answered."""
        ...

    async def find(self, digest: bytes) -> ConsentReply | None:
        """The answer, also where it has expired and was not yet forgotten."""
        ...

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Deletes at most ``limit`` that expired at ``until`` or before; how many there were. Need not be durable."""
        ...
