"""The socket for ledgers: opaque entries, appended in order, durable on return.

Anchoring is an optional Protocol beside it. The outbox that feeds it is the core's; signed transactions and their
nonces are the plugin's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Receipt:
    """Where an entry was recorded.

    ``transaction_hash`` is lower-case hex of 32 bytes, ``block_number`` counts from 1, ``sequence`` is the position in
    the whole ledger (from 1, without gaps), ``recorded_at`` the ledger's own aware UTC time.
    """

    transaction_hash: str
    block_number: int
    sequence: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One line of the ledger: the ``version`` of ``did`` (1..n without gaps), its bytes and its receipt."""

    did: str
    version: int
    entry: bytes
    receipt: Receipt


@dataclass(frozen=True, slots=True)
class LedgerHead:
    """The newest block; all zero when the ledger is empty."""

    sequence: int
    block_number: int


@runtime_checkable
class LedgerBackend(Protocol):
    """A ledger. Every method may raise ``LedgerUnavailable``."""

    async def append(self, did: str, entry: bytes, *, expected_version: int) -> Receipt:
        """Records ``entry`` as version ``expected_version + 1`` of ``did``: atomic, and durable on return.

        Raises ``VersionConflict`` when the DID has another number of entries than ``expected_version``; that request
        fails alone, whatever is appended beside it.
        """
        ...

    async def entries(self, did: str) -> Sequence[LedgerEntry]:
        """All entries of ``did``, oldest first; empty when there is none."""
        ...

    async def entries_after(self, sequence: int, limit: int) -> Sequence[LedgerEntry]:
        """At most ``limit`` entries of the whole ledger after ``sequence``, in order."""
        ...

    async def head(self) -> LedgerHead:
        """Where the ledger ends."""
        ...
