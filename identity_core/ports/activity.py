"""Sinks of events, and the answers that an ``Idempotency-Key`` replays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from msgspec import Struct

from identity_core.database import Transaction
from identity_core.domain.activity import Event, EventRecord


class EventSink(Protocol):
    """A writer of rows for some events, such as the audit log. An extension has one in ``Contribution.events``."""

    # The types of the events that it receives.
    kinds: frozenset[type[Event]]

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        """Write the rows of one or more events, in the transaction of their changes. It must do nothing but SQL and arithmetic. If the
        transaction is rolled back, it may be called again with the same events, until the database is closed.

        If the sink is vital, an exception rolls back the change. If not, only the rows of the sink are rolled back.
        """


class EventLog(Protocol):
    """The sinks of all parts."""

    def write(self, records: Sequence[EventRecord], *, durable: bool = False) -> Awaitable[None]:
        """Queue events that have no change in the store. Their rows are stored in one transaction when the awaitable resolves: a crash
        of the process does not lose them. A loss of power may lose them unless ``durable``, because most changes are durable anyway."""


class StoredAnswer(Struct, frozen=True):
    """The answer that an Idempotency-Key replays."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


class IdempotencyRecord(Struct, frozen=True):
    """The stored state of a request. ``answer`` is None until there is one. ``intent`` is the change that an earlier run began, if the
    caller holds the reservation."""

    fingerprint: str
    answer: StoredAnswer | None
    intent: bytes | None = None


class IdempotencyKeys(Protocol):
    """Requests by the hash of (caller, method, path, key); the key itself is not stored. ``since``, the start time of its reservation,
    identifies a run: a run that was overtaken changes nothing. The caller of the port seals answers and intents."""

    async def begin(self, key_hash: str, fingerprint: str, now: datetime) -> IdempotencyRecord | None:
        """Reserve the key and return None, or return the existing record. A reservation older than the lease is taken over; one with an
        intent only by the same request. A reservation without an intent need not be durable, because its request is not."""

    async def find(self, key_hash: str, now: datetime) -> IdempotencyRecord | None:
        """Return the stored record unless it has expired, with the intent of any run. Reserve nothing."""

    async def intend(self, key_hash: str, since: datetime, intent: bytes) -> bool:
        """Store the intent of the run, durably. Return False if the run was overtaken."""

    async def complete(self, key_hash: str, since: datetime, answer: StoredAnswer, now: datetime) -> None:
        """Replace the intent with the answer, durably; the first answer counts."""

    def completing(
        self, key_hash: str, since: datetime, answer: Callable[[Any], tuple[StoredAnswer, datetime] | None]
    ) -> AbstractContextManager[None]:
        """Complete in the transaction of the next write within the context. ``answer`` converts the result of the write, perhaps on
        another thread; it returns None to complete nothing. If the run was overtaken, the write is rolled back and raises
        ``RequestInProgress``."""

    async def abandon(self, key_hash: str, since: datetime) -> None:
        """Release a reservation whose request ended without an answer. An intent stays, for the next run of the same request."""

    async def forget(self, now: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` answers past their retention. Return their number. Need not be durable."""
