"""The storage of requests for presentations, until a wallet has answered and the verifier has read the answer."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol

from identity_codec.values import value_class


@value_class
class StoredPresentation:
    """A request of ``owner`` (``Caller.owner``) and the answer to it, None while there is none. Both are sealed by the caller of the
    port."""

    owner: str
    request: bytes
    expires_at: datetime
    answer: bytes | None = None


class Presentations(Protocol):
    """Requests by their id, which is not stored."""

    async def add(self, request_id: str, stored: StoredPresentation, now: datetime) -> None:
        """Keeps it. Raises ``Overloaded`` when far too many of this owner are live. It need not be durable."""
        ...

    async def find(self, request_id: str) -> StoredPresentation | None:
        """Return what is kept of it, or None."""
        ...

    async def answer(self, request_id: str, answer: bytes, now: datetime) -> bool:
        """Keeps the answer by one guarded statement, durable on return: exactly one of many callers sees True, and none from the end of
        the request on."""
        ...

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Deletes at most ``limit`` that had expired by then; how many there were."""
        ...
