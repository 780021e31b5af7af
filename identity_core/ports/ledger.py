"""The socket for ledgers: opaque entries, appended in order, durable on return.

Anchoring is an optional Protocol beside it (``AnchoringLedger``). The outbox that feeds it is the core's, and so are the
Merkle tree and its paths; signed transactions and their nonces are the plugin's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, runtime_checkable

from identity_codec.strict_json import JsonValue
from identity_codec.values import value_class
from identity_core.errors import LedgerUnavailable, PluginUnavailable
from identity_core.ports.clock import Clock


@value_class
class Receipt:
    """The place of a recorded entry.

    ``transaction_hash`` is lower-case hex of 32 bytes, ``block_number`` counts from 1, ``sequence`` is the position in
    the whole ledger (from 1, without gaps), ``recorded_at`` the ledger's own aware UTC time.
    """

    transaction_hash: str
    block_number: int
    sequence: int
    recorded_at: datetime


@value_class
class LedgerEntry:
    """One line of the ledger: the ``version`` of ``did`` (1..n without gaps), its bytes and its receipt."""

    did: str
    version: int
    entry: bytes
    receipt: Receipt


@value_class
class NewestEntry:
    """The version and transaction hash that identify the newest entry of a DID: its version, and its transaction hash
    as in ``Receipt``."""

    version: int
    transaction_hash: str


@value_class
class LedgerHead:
    """The newest block; all zero when the ledger is empty."""

    sequence: int
    block_number: int


@value_class
class LogSize:
    """The entries of one DID, and the bytes of all of them together."""

    entries: int
    octets: int


@runtime_checkable
class LedgerBackend(Protocol):
    """A ledger. Every method may raise ``LedgerUnavailable``; and ``StorageMismatch`` where what it stands on is not what it wrote: a file
    was replaced under it, or is damaged."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        """Records ``entry`` as version ``expected_version + 1`` of ``did``: atomic, and durable on return.

        Raises ``VersionConflict`` when the DID has another number of entries than ``expected_version``; that request
        fails alone, whatever is appended beside it.

        When ``LedgerUnavailable`` is raised, ``details["outcome"]`` may be ``"not recorded"``, which is a promise; without
        it the outcome is unknown, and the entry may still come up. Asking again is safe: the same append either gets its
        receipt now or is a ``VersionConflict``, and ``entries`` shows whether the recorded one is the caller's own. It is
        never recorded twice, and a second caller with the same bytes never gets the receipt of the first.
        """

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        """The entries of ``did`` behind version ``after``, oldest first, at most ``limit`` of them; empty when there is none.

        Nothing stays open or locked on return: anyone who passes a long log on reads it page by page, as slowly as he likes.
        """

    async def log_size(self, did: str) -> LogSize:
        """How long the log of ``did`` is, without reading it; all zero when there is none."""

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        """At most ``limit`` entries of the whole ledger after ``sequence``, in order."""

    async def head(self) -> LedgerHead:
        """Return the end of the ledger."""


@runtime_checkable
class NewestEntries(Protocol):
    """An optional interface of a ledger, with which a reader finds the end of a log without reading the log."""

    async def newest(self, did: str) -> NewestEntry | None:
        """Return the version and hash of the last of ``entries(did)``; None if there is none. May raise
        ``LedgerUnavailable``."""

    @property
    def is_embedded(self) -> bool:
        """Whether this object's reads end without waiting, and take microseconds: they are answered while a request is parsed, without a
        task."""


@runtime_checkable
class NewestLedger(NewestEntries, LedgerBackend, Protocol):
    """A ledger that says where a log ends."""


AnchorState = Literal["submitted", "mined", "confirmed", "failed"]


@value_class
class AnchorTransaction:
    """How far an anchor or a revocation has come.

    *submitted*: taken over and durable, and the ledger sees to the rest, also after a restart; ``reason`` says what it waits
    for, such as an empty purse, where a person has to do something. *mined*: in a block that may still be undone.
    *confirmed*: final. *failed*: it will never be recorded, ``reason`` says why; asking for it again begins anew.
    ``transaction_hash`` (lower-case hex of 32 bytes) and ``block_number`` are those of the newest attempt, None while there
    are none; a ledger whose blocks can be undone may change them, and may go back to *submitted*.
    """

    state: AnchorState
    transaction_hash: str | None
    block_number: int | None
    reason: str = ""


@runtime_checkable
class AnchoringLedger(LedgerBackend, Protocol):
    """A ledger that also records digests: the roots of batches, and the leaves of them that no longer hold.

    Digests are 32 bytes and mean nothing to it. Every method may raise ``LedgerUnavailable``: whether the digest was taken
    over is then unknown, and asking again is safe.
    """

    @property
    def anchor_ledger_name(self) -> str:
        """Names the ledger in receipts, such as ``sql`` or ``evm:31337:0x5fbd…``; the same after a restart."""

    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        """Records ``root``, which stands for ``size`` leaves (at least one), once: the same root again tells how far the
        first is. Durable on return, and before anything is sent."""

    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        """How far the anchor of ``root`` is; None when it was never submitted."""

    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        """Records that ``leaf`` no longer holds, once; the others of its batch are not touched. Durable on return."""

    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        """How far the revocation of ``leaf`` is; None when it was never asked for."""


@runtime_checkable
class NewestAnchoringLedger(NewestEntries, AnchoringLedger, Protocol):
    """A ledger that records digests and says where a log ends."""


@value_class
class Examination:
    """The result of examining a part of a ledger's own records: ``last`` is the place of the last that was looked at,
    that of the call where none is left; ``faults`` say what is wrong with which."""

    last: int
    faults: tuple[str, ...]


@runtime_checkable
class ExaminableLedger(NewestAnchoringLedger, Protocol):
    """A ledger that also holds its records against the chains that it keeps over them."""

    async def examine(self, kind: Literal["entries", "anchors"], after: int, limit: int) -> Examination:
        """Looks at no more than ``limit`` records behind the place ``after``, the first of them against the one before it. Changes
        nothing."""


MOST_AHEAD_SECONDS: Final = 60.0
NOT_RECORDED: Final[Mapping[str, JsonValue]] = {"outcome": "not recorded", "retryAfter": 60}


class ClockAhead(LedgerUnavailable):
    """The clock is ahead, or hours behind; it passes, so the answer is 503."""

    code, status = PluginUnavailable.code, PluginUnavailable.status
    message = "The clock is more than a minute ahead, or hours behind: nothing is recorded. Set it, or restart the service if it is right."


def require_steady(clock: Clock, at: datetime, *, server: datetime | None = None) -> None:
    """Raise ``ClockAhead`` when ``at``, a time to be recorded for good, is more than a minute ahead of what a watched clock
    counts, or of ``server``, the clock of the database."""
    ahead = getattr(clock, "ahead_seconds", None)
    counted = 0.0 if ahead is None else ahead(at)
    if max(counted, 0.0 if server is None else (at - server).total_seconds()) > MOST_AHEAD_SECONDS:
        raise ClockAhead(details=NOT_RECORDED)
