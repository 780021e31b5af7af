"""The socket for ledgers: opaque entries, appended in order, durable on return.

Anchoring is a separate, optional Protocol (``AnchoringLedger``). The core maintains the outbox, the Merkle tree and its paths; the
plugin makes signed transactions and their nonces.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final, Literal, Protocol, runtime_checkable

from msgspec import Struct

from identity_codec.deprecation import OldMember
from identity_codec.strict_json import JsonValue
from identity_core.errors import LedgerUnavailable, PluginUnavailable
from identity_core.ports.clock import Clock


class Receipt(Struct, frozen=True):
    """The place of a recorded entry.

    ``transaction_hash`` is lower-case hex of 32 bytes, ``block_number`` counts from 1, ``sequence`` is the position in
    the whole ledger (from 1, without gaps), ``recorded_at`` the ledger's own aware UTC time.
    """

    transaction_hash: str
    block_number: int
    sequence: int
    recorded_at: datetime


class LedgerEntry(Struct, frozen=True):
    """One line of the ledger: the ``version`` of ``did`` (1..n without gaps), its bytes and its receipt."""

    did: str
    version: int
    entry: bytes
    receipt: Receipt


class NewestEntry(Struct, frozen=True):
    """The identification of the newest entry of a DID: its version, and its transaction hash as in ``Receipt``."""

    version: int
    transaction_hash: str


class LedgerHead(Struct, frozen=True):
    """The newest block; all zero when the ledger is empty."""

    sequence: int
    block_number: int


class LogSize(Struct, frozen=True):
    """The number of entries of one DID, and their size in bytes."""

    entries: int
    byte_count: int
    octets = OldMember("byte_count")


@runtime_checkable
class LedgerBackend(Protocol):
    """A ledger. Every method may raise ``LedgerUnavailable``. Raises ``StorageMismatch``: when the underlying storage differs from what
    it wrote, because a file was replaced or is damaged."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        """Record ``entry`` as version ``expected_version + 1`` of ``did``: atomic, and durable on return.

        Raises ``VersionConflict``: when the number of entries of the DID is not ``expected_version``. Only this request fails;
        parallel appends are not affected.

        If ``LedgerUnavailable`` has ``details["outcome"] == "not recorded"``, the entry is certainly not recorded. Without it the
        outcome is unknown, and the entry may still appear. A retry is safe: the same append either returns its receipt or raises
        ``VersionConflict``, and ``entries`` shows whether the recorded one is the caller's own. An entry is never recorded twice,
        and a second caller with the same bytes never gets the receipt of the first.
        """

    async def entries(self, did: str, *, after: int = 0, limit: int | None = None) -> Sequence[LedgerEntry]:
        """Return the entries of ``did`` after version ``after``, oldest first, at most ``limit`` of them; empty if there is none.

        Nothing stays open or locked on return, so a caller may read a long log slowly, page by page.
        """

    async def log_size(self, did: str) -> LogSize:
        """Return the size of the log of ``did`` without reading it; all zero if there is none."""

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        """Return at most ``limit`` entries of the whole ledger after ``sequence``, in order."""

    async def head(self) -> LedgerHead:
        """Return the end of the ledger."""


@runtime_checkable
class NewestEntries(Protocol):
    """An optional interface of a ledger that returns the end of a log without reading the log."""

    async def newest(self, did: str) -> NewestEntry | None:
        """Return the version and hash of the last of ``entries(did)``; None if there is none. May raise
        ``LedgerUnavailable``."""


@runtime_checkable
class NewestLedger(NewestEntries, LedgerBackend, Protocol):
    """A ledger that returns the end of a log."""


AnchorState = Literal["submitted", "mined", "confirmed", "failed"]


class AnchorTransaction(Struct, frozen=True):
    """The progress of an anchor or a revocation.

    *submitted*: accepted and durable; the ledger completes it, also after a restart. If a person has to act, ``reason`` states the
    cause, such as an account without funds. *mined*: in a block that may still be undone. *confirmed*: final. *failed*: it will
    never be recorded, for the ``reason``; a new submission starts again.
    ``transaction_hash`` (lower-case hex of 32 bytes) and ``block_number`` are those of the newest attempt, None while there
    are none. A ledger whose blocks can be undone may change them, and may return to *submitted*.
    """

    state: AnchorState
    transaction_hash: str | None
    block_number: int | None
    reason: str = ""


@runtime_checkable
class AnchoringLedger(LedgerBackend, Protocol):
    """A ledger that also records digests: the roots of batches, and their revoked leaves.

    Digests are 32 opaque bytes. Every method may raise ``LedgerUnavailable``: it is then unknown whether the digest was accepted,
    and a retry is safe.
    """

    @property
    def anchor_ledger_name(self) -> str:
        """The name of the ledger in receipts, such as ``sql`` or ``evm:31337:0x5fbd…``; the same after a restart."""

    async def submit_anchor(self, root: bytes, size: int) -> AnchorTransaction:
        """Record ``root`` of ``size`` leaves (at least one) once. A repeated call with the same root returns the progress of the first.
        Durable on return, and before anything is sent."""

    async def anchor_status(self, root: bytes) -> AnchorTransaction | None:
        """Return the progress of the anchor of ``root``; None if it was never submitted."""

    async def revoke_leaf(self, leaf: bytes) -> AnchorTransaction:
        """Record the revocation of ``leaf`` once; the other leaves of its batch do not change. Durable on return."""

    async def revocation_status(self, leaf: bytes) -> AnchorTransaction | None:
        """Return the progress of the revocation of ``leaf``; None if it was never requested."""


@runtime_checkable
class NewestAnchoringLedger(NewestEntries, AnchoringLedger, Protocol):
    """A ledger that records digests and returns the end of a log."""


class Examination(Struct, frozen=True):
    """The result of examining a part of a ledger's own records. ``last`` is the place of the last examined record, or the place in
    the call if none is left. ``faults`` describe the faulty records."""

    last: int
    faults: tuple[str, ...]


@runtime_checkable
class ExaminableLedger(NewestAnchoringLedger, Protocol):
    """A ledger that also compares its records with the hash chains over them."""

    async def examine(self, kind: Literal["entries", "anchors"], after: int, limit: int) -> Examination:
        """Examine at most ``limit`` records after the place ``after``; compare the first with the one before it. Change nothing."""


MOST_AHEAD_SECONDS: Final = 60.0
NOT_RECORDED: Final[Mapping[str, JsonValue]] = {"outcome": "not recorded", "retryAfter": 60}


class ClockAhead(LedgerUnavailable):
    """The clock is ahead, or hours behind. The condition is temporary, so the answer is 503."""

    code, status = PluginUnavailable.code, PluginUnavailable.status
    message = "The clock is more than a minute ahead, or hours behind: nothing is recorded. Set it, or restart the service if it is right."


def require_steady(clock: Clock, at: datetime, *, server: datetime | None = None) -> None:
    """Raise ``ClockAhead``: when ``at``, a time that is to be recorded permanently, is more than a minute ahead of the count of a
    watched clock, or of ``server``, the clock of the database."""
    counted = 0.0 if (ahead := getattr(clock, "ahead_seconds", None)) is None else ahead(at)
    if max(counted, 0.0 if server is None else (at - server).total_seconds()) > MOST_AHEAD_SECONDS:
        raise ClockAhead(details=NOT_RECORDED)
