"""Sinks of events, the challenges that verifiers obtain from the service, and the answers that an ``Idempotency-Key`` replays."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, Protocol

from identity_codec.values import value_class
from identity_core.database import Transaction
from identity_core.domain.activity import Event, EventRecord


class EventSink(Protocol):
    """Writes rows of some events, such as the audit log. An extension has one in ``Contribution.events``."""

    # The types of the events that it gets.
    kinds: frozenset[type[Event]]

    def write(self, transaction: Transaction, records: Sequence[EventRecord]) -> None:
        """Write the rows of one or more events, in the transaction of their changes. It must do nothing but SQL and arithmetic. It may be
        called again with the same events when the transaction was undone, and until the database is closed.

        If the sink is vital, an exception undoes the change. If not, only what the sink has written is undone.
        """


class EventLog(Protocol):
    """The sinks of all parts."""

    def write(self, records: Sequence[EventRecord], *, durable: bool = False) -> Awaitable[None]:
        """Queue events that have no change in the store; their rows are stored, in one transaction, when the awaitable resolves. They then
        outlive the process. They outlive a loss of power only if ``durable``, because most changes are durable themselves."""


@value_class
class VerifierChallenge:
    """A challenge as it is kept. ``owner`` is who obtained it, ``domain`` for what; times are aware UTC."""

    owner: str
    domain: str
    expires_at: datetime
    spent: bool


class VerifierChallenges(Protocol):
    """The challenges of verifiers, by their text; the text itself is not stored."""

    async def add(self, text: str, challenge: VerifierChallenge, now: datetime) -> None:
        """Keeps it until it expires. Raises ``Overloaded`` when far too many of this owner are live. It need not be durable."""

    async def find(self, text: str) -> VerifierChallenge | None:
        """Return the stored record, or None."""

    async def spend(self, text: str, now: datetime) -> bool:
        """Spends it by one guarded statement, durable on return: exactly one of many callers sees True."""

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Deletes at most ``limit`` that were spent and had expired by then; how many there were."""


@value_class
class StoredAnswer:
    """The answer that an Idempotency-Key replays."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes


@value_class
class IdempotencyRecord:
    """``answer`` is None until there is one. ``intent`` is what an earlier run was about to do, where the reservation is the caller's."""

    fingerprint: str
    answer: StoredAnswer | None
    intent: bytes | None = None


class IdempotencyKeys(Protocol):
    """Requests by the hash of (caller, method, path, key); the key itself is not stored. A run is known by the time at which its
    reservation began, ``since``: one that was overtaken changes nothing. Answers and intents are sealed by the caller of the port."""

    async def begin(self, key_hash: str, fingerprint: str, now: datetime) -> IdempotencyRecord | None:
        """Reserve the key and return None, or return what is there. A reservation older than the lease is taken over, with an intent
        only by the same request. Without an intent none need outlive a loss of power, as its request does not."""

    async def find(self, key_hash: str, now: datetime) -> IdempotencyRecord | None:
        """Return what is stored and has not expired, with the intent of any run. Reserve nothing."""

    async def intend(self, key_hash: str, since: datetime, intent: bytes) -> bool:
        """Store what is about to be done, durably. False where the run was overtaken."""

    async def complete(self, key_hash: str, since: datetime, answer: StoredAnswer, now: datetime) -> None:
        """Replace the intent with the answer, durably; the first answer counts."""

    def completing(
        self, key_hash: str, since: datetime, answer: Callable[[Any], tuple[StoredAnswer, datetime] | None]
    ) -> AbstractContextManager[None]:
        """Complete in the transaction of the next write within the context, with what ``answer`` makes of its result, perhaps on another
        thread. Where the run was overtaken, the write is undone and raises ``RequestInProgress``."""

    async def abandon(self, key_hash: str, since: datetime) -> None:
        """Free a reservation whose request ended without an answer. An intent stays, for the next run of the same request."""

    async def forget(self, now: datetime, *, limit: int) -> int:
        """Deletes at most ``limit`` answers that need not be kept any longer; how many there were. Need not be durable."""
