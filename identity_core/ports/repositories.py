"""The data that the use cases store beside the ledger. Every write is durable on return unless its docstring says
otherwise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Protocol

from identity_codec.values import value_class
from identity_core.domain.activity import EventRecord
from identity_core.domain.dids.state import DidState
from identity_core.ports.ledger import Receipt


@value_class
class StoredVersion:
    """A version as the index stores it, and as it is answered. ``changes``: bytes of a JSON array. Times: microseconds since 1970."""

    version_id: int
    created: int
    updated: int
    deactivated: bool
    document: bytes
    sequence: int
    transaction_hash: str
    operation: str
    recorded: int
    block_number: int
    previous_hash: str | None
    entry_hash: str
    key_id: str | None
    changes: bytes
    unbound_changes: int | None


@value_class
class IndexedVersion:
    """One version of a DID in the index. ``receipt`` is None for a state that was expanded and never recorded, as of did:key. ``changes``
    are public strings such as ``keyAdded #z6Mk…``."""

    state: DidState
    receipt: Receipt | None
    changes: tuple[str, ...] = ()


@value_class
class RowPosition:
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
    """Whether it is a file, which no ledger shares: then ``recording`` records nothing."""

    async def head(self, did: str) -> IndexedVersion | None:
        """The newest version, or None for a DID without any."""

    async def version(self, did: str, version_id: int) -> IndexedVersion | None:
        """The version with this number, or None."""

    async def version_at(self, did: str, second: datetime, *, newest: int) -> int:
        """Return the number of the last version up to ``newest`` whose printed second is not later than ``second``, or 0. The binary
        search does not check the tags of rows: the caller must read that version and the next."""

    async def versions(self, did: str, *, after: int, limit: int, descending: bool) -> Sequence[IndexedVersion]:
        """Versions beyond ``after`` in the asked direction (descending: below ``after``; 0 means from the end)."""

    async def stored_head(self, did: str) -> StoredVersion | None:
        """Return the head for an answer that needs only the stored version."""

    async def stored(self, did: str, *, after: int, limit: int, descending: bool = False) -> Sequence[StoredVersion]:
        """Return the versions for such an answer."""

    async def record(
        self, versions: Sequence[IndexedVersion], *, owner: str | None = None, event: EventRecord | None = None
    ) -> None:
        """Adds versions, each once (a second time is no error) and moves the cursor over their sequences as far as they are
        gapless. ``owner`` is the identity of the caller that created the DID. The sinks write ``event`` in the same transaction. A
        caller that is cancelled takes nothing of it away."""

    def recording(
        self, made: Callable[[Receipt], tuple[IndexedVersion, EventRecord]], *, owner: str | None
    ) -> AbstractContextManager[None]:
        """Records what ``made`` makes of a receipt in the transaction of the next append within the context, where the ledger writes
        through the store's database. Elsewhere ``made`` is not called, and the version is for ``record``."""

    async def cursor(self) -> int:
        """The ledger sequence up to which everything is in the index, without a gap."""

    async def pass_over(self, sequence: int) -> None:
        """Moves the cursor to ``sequence`` at least: what is missing before it cannot be folded, and will not come."""

    async def owned(self, owner: str, *, after: str | None, limit: int) -> Sequence[IndexedVersion]:
        """Heads of the DIDs that ``owner`` created, by DID, those after ``after`` first."""

    async def events(self, *, after: int, limit: int) -> Sequence[IndexedVersion]:
        """Recorded versions by ledger sequence, those after ``after`` first."""

    def one_look(self) -> AbstractContextManager[None]:
        """Within it ``head`` may say what was so when it was first asked: for several DIDs of one request, which came before it."""

    def known(self, did: str) -> IndexedVersion | None:
        """Return the head where it is cheap to know and cannot be stale, else None."""

    def follow(self, did: str, version_id: int) -> None:
        """Has ``generation`` tell of a DID whose newest version an embedded index has just given as ``version_id``."""

    def generation(self, did: str) -> int | None:
        """The newest version id when it is cheap to know and cannot be stale, else None (ask ``head``)."""


class IndexRows(Protocol):
    """The rows of the document index, held against what the fold of a DID's ledger entries gives. ``folded`` is that, from version 1."""

    async def compare(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        """Return the differences, a line for each version that is: changed, missing, not on the ledger, or without a tag of ours.
        A row of an earlier form that says the same is not different."""

    async def seal(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        """Adds what is missing, tags the rows of before there were tags, and writes those of an earlier form anew, if nothing else is
        different. Returns what is."""

    async def rebuild(self, did: str, folded: Sequence[IndexedVersion]) -> Sequence[str]:
        """Writes the rows of ``did`` anew; keeps its owner where the row that names it is ours. Does nothing where rows of ours tell
        more or otherwise than ``folded``, which then is not the ledger that they came from, and returns them."""

    def unfinished(self, *, limit: int) -> AsyncIterator[Sequence[str]]:
        """The DIDs that have rows without a tag, or of an earlier form; a page is done when the next one is asked for."""

    async def dids(self, *, after: str, limit: int) -> Sequence[str]:
        """The DIDs that have rows, in order."""


@value_class
class Suspicion:
    """A DID whose index and ledger did not agree, what was found first, and when."""

    did: str
    reason: str
    since: datetime


class Quarantine(Protocol):
    """The public description of quarantined DIDs. It withholds nothing itself."""

    def suspect(self, did: str, reason: str) -> None:
        """Notes it in memory."""

    async def unknown(self, now: datetime) -> Sequence[Suspicion]:
        """Return the noted rows that are not stored yet."""

    async def add(self, found: Sequence[Suspicion]) -> None:
        """Stores it, each DID once. Durable on return."""

    async def list(self, *, after: str, limit: int) -> Sequence[Suspicion]:
        """By DID, those after ``after`` first."""

    async def count(self) -> int:
        """How many there are, or are noted in this process."""

    async def release(self, did: str) -> None:
        """Forgets one that was repaired. Durable on return."""


@value_class
class ChallengeUseRow:
    """A used challenge or token by the SHA-256 of its text; or ``number`` 0 of a ``saying``, which states that something was withdrawn."""

    digest: bytes
    saying: bytes
    number: int | None
    expires_at: datetime


@value_class
class ChallengeOfferRow:
    """A challenge that was handed out: SHA-256 of its text, digest of its scope, the client address, the random 16 bytes of its nonce."""

    digest: bytes
    scope: bytes
    address: str
    number: bytes
    expires_at: datetime
    offered_at: datetime


class SpentChallenges(Protocol):
    """One-time use of challenges and other tokens. Challenges that a header does not name are stored when they are handed out, too."""

    async def numbers(self, sayings: Sequence[bytes], *, limit: int) -> Sequence[Sequence[int]]:
        """Return the highest ``limit`` used numbers of each saying, in the order of ``sayings``."""

    async def offer(self, offered: ChallengeOfferRow) -> None:
        """Store it, readable by every process on return. Need not be durable."""

    async def offered(
        self, scopes: Sequence[bytes], address: str, *, own: bool, used: bool, limit: int
    ) -> Sequence[ChallengeOfferRow]:
        """Return the newest ``limit`` of the scopes: those of ``address``, or (not ``own``) of others; used ones or open ones."""

    async def spend(self, spent: ChallengeUseRow) -> bool:
        """Store it by one guarded statement, durable on return. Return False when it was there: one of many callers gets True."""

    async def forget(self, until: datetime, *, limit: int) -> int:
        """Delete at most ``limit`` used ones that expired at ``until`` or before. Return how many. Need not be durable."""

    async def forget_offered(self, until: datetime, *, limit: int) -> int:
        """Do the same to those that were handed out."""
