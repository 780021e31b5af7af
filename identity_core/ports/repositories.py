"""Stores of data outside of the ledger. Every write is durable on return unless its docstring states otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from msgspec import Struct

from identity_core.domain.activity import EventRecord
from identity_core.domain.dids.state import DidState
from identity_core.ports.ledger import Receipt


class IndexedVersion(Struct, frozen=True):
    """One version of a DID in the index. ``receipt`` is None for a state that was expanded and never recorded, as for did:key.
    ``changes`` are public strings such as ``keyAdded #z6Mk…``."""

    state: DidState
    receipt: Receipt | None
    changes: tuple[str, ...] = ()


class RowPosition(Struct, frozen=True):
    """The row at which a page ended, of rows that are sorted by time and id."""

    created_at: datetime
    id: str


class DocumentIndex(Protocol):
    """A projection of the ledger: written after the append and before the answer, rebuilt from the ledger after a crash.
    It need not be durable on return, because ``cursor`` shows which entries are missing; it must never be torn. It returns only
    versions that ``record`` received. For a row that another program wrote or changed it raises ``DidQuarantined``; lists omit such rows.
    The index cannot detect that the newest versions are missing. A decision by a head compares it with the ledger
    (``use_cases/dids/head_check.py``).
    """

    is_embedded: bool
    """True if the index is a file, which no ledger shares: then ``recording`` records nothing."""

    async def head(self, did: str) -> IndexedVersion | None:
        """Return the newest version, or None for a DID without any."""

    async def version(self, did: str, version_id: int) -> IndexedVersion | None:
        """Return the version with this number, or None."""

    async def version_at(self, did: str, second: datetime, *, newest: int) -> int:
        """Return the number of the last version up to ``newest`` whose printed second is not later than ``second``, or 0. The binary
        search does not check the tags of rows: the caller must read that version and the next."""

    async def versions(self, did: str, *, after: int, limit: int, descending: bool) -> Sequence[IndexedVersion]:
        """Return the versions above ``after``; if ``descending``, those below ``after``, where 0 means from the end."""

    async def record(
        self, versions: Sequence[IndexedVersion], *, owner: str | None = None, event: EventRecord | None = None
    ) -> None:
        """Add versions, each once (a second time is no error), and move the cursor over their sequences up to the first gap.
        ``owner`` is the identity of the caller that created the DID. The sinks write ``event`` in the same transaction. If the caller
        is cancelled, the write still completes."""

    def recording(
        self, made: Callable[[Receipt], tuple[IndexedVersion, EventRecord]], *, owner: str | None
    ) -> AbstractContextManager[None]:
        """Record the result of ``made`` for a receipt in the transaction of the next append within the context, if the ledger writes
        through the store's database. Otherwise ``made`` is not called, and the caller must call ``record``."""

    async def cursor(self) -> int:
        """Return the ledger sequence up to which the index is complete."""

    async def pass_over(self, sequence: int) -> None:
        """Move the cursor at least to ``sequence``: the missing entries before it cannot be folded and will not be indexed."""

    async def owned(self, owner: str | None, *, after: str | None, limit: int) -> Sequence[IndexedVersion]:
        """Return the heads of the DIDs after ``after`` that ``owner`` created, in order of DID. None is any owner."""

    async def events(self, *, after: int, limit: int) -> Sequence[IndexedVersion]:
        """Return the recorded versions after ``after``, in order of ledger sequence."""

    def one_look(self) -> AbstractContextManager[None]:
        """Allow ``head`` within the context to return the state of its first call. It is for several DIDs of one request, which began
        before that call."""

    def find_cached_head(self, did: str) -> IndexedVersion | None:
        """Return the head if it is cached and cannot be stale, else None."""

    def generation(self, did: str) -> int | None:
        """Return the newest version id if it is cached and cannot be stale, else None (call ``head``)."""


class IndexRows(Protocol):
    """The rows of the document index, in comparison with the fold of a DID's ledger entries. ``folded``: the fold, from version 1."""

    async def compare(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        """Return the differences, a line for each version that is: changed, missing, not on the ledger, or without a tag of ours.
        A row of an earlier form with the same content is not different."""

    async def seal(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        """Add missing rows, tag rows from before tags existed, and rewrite rows of an earlier form. If a row differs in any other
        way, change nothing and return these differences."""

    async def rebuild(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        """Rewrite the rows of ``did``; keep its owner if the row with the owner is ours. If rows of ours are more than or differ from
        ``folded``, they come from another ledger: change nothing and return these rows."""

    def unfinished(self, *, limit: int) -> AsyncIterator[Sequence[str]]:
        """Yield pages of the DIDs that have rows without a tag, or of an earlier form. A page must be finished before the next one is
        requested."""

    async def dids(self, *, after: str, limit: int) -> Sequence[str]:
        """Return the DIDs after ``after`` that have rows, in order."""


class Suspicion(Struct, frozen=True):
    """A DID whose index and ledger differed, with the first finding and its time."""

    did: str
    reason: str
    since: datetime


class Quarantine(Protocol):
    """The public description of quarantined DIDs. It withholds nothing itself."""

    def suspect(self, did: str, reason: str) -> None:
        """Record the suspicion in memory."""

    async def unknown(self, now: datetime) -> Sequence[Suspicion]:
        """Return the noted rows that are not stored yet."""

    async def add(self, found: Sequence[Suspicion]) -> None:
        """Store the suspicions, each DID once. Durable on return."""

    async def list(self, *, after: str, limit: int) -> Sequence[Suspicion]:
        """Return the suspicions after ``after``, in order of DID."""

    async def count(self) -> int:
        """Return the number of suspicions that are stored or noted in this process."""

    async def release(self, did: str) -> None:
        """Delete the suspicion of a repaired DID. Durable on return."""


class ChallengeUseRow(Struct, frozen=True):
    """A used challenge or token by the SHA-256 of its text. ``number`` 0 of a ``saying`` states that its subject was withdrawn."""

    digest: bytes
    saying: bytes
    number: int | None
    expires_at: datetime


class ChallengeOfferRow(Struct, frozen=True):
    """A challenge that was handed out: SHA-256 of its text, digest of its scope, the client address, the random 16 bytes of its nonce."""

    digest: bytes
    scope: bytes
    address: str
    number: bytes
    expires_at: datetime
    offered_at: datetime


class SpentChallenges(Protocol):
    """The one-time use of challenges and other tokens. Challenges without the name in a header are also stored when they are issued."""

    async def numbers(self, sayings: Sequence[bytes], *, limit: int) -> Sequence[Sequence[int]]:
        """Return the highest ``limit`` used numbers of each of the ``sayings``, in their order."""

    async def offer(self, offered: ChallengeOfferRow) -> None:
        """Store an issued challenge, readable by every process on return. Need not be durable."""

    async def offered(
        self, scopes: Sequence[bytes], address: str, *, own: bool, used: bool, limit: int
    ) -> Sequence[ChallengeOfferRow]:
        """Return ``limit`` challenges of the scopes: the newest of each scope and address first. ``own``: those of ``address``, else of
        other addresses. ``used``: used ones, else open ones."""

    async def spend(self, spent: ChallengeUseRow) -> bool:
        """Store the use by one guarded statement, durable on return. Return False if it exists: one of many callers gets True."""

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` used ones that expired at ``until`` or before. Return how many. Need not be durable."""

    async def forget_offered(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` issued ones that expired at ``until`` or before. Return how many. Need not be durable."""
