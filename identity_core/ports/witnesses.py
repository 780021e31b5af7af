"""Witnesses that cosign the log's checkpoints, and what is kept of what they cosigned."""

from __future__ import annotations

from datetime import datetime
from typing import Protocol


class WitnessFailed(Exception):
    """The witness does not answer, refuses, or answers what is none of the answers of tlog-witness. The text is one line."""


class CheckpointWitness(Protocol):
    """One witness, over whatever way leads to it."""

    async def add_checkpoint(self, body: bytes) -> bytes:
        """The octets that it answers a submission with: cosignature lines, not yet looked at, in some kilobytes at most.

        Ends within ten seconds or so. Raises ``Stale`` with the size of what it cosigned last, ``WitnessFailed``.
        """
        ...


class CosignedCheckpoints(Protocol):
    """Signed notes that a quorum has cosigned: the newest, and one a minute of those before it."""

    async def newest(self) -> bytes | None:
        """The one with the most entries; None where there is none."""
        ...

    async def covering(self, index: int) -> bytes | None:
        """The one with the fewest entries among those that cover the leaf ``index`` (from 0); None where none does."""
        ...

    async def keep(self, size: int, cosigned_at: datetime, note: bytes) -> None:
        """Keeps a checkpoint of ``size`` entries unless a newer one is there. Another note of the same size takes the place of the
        first. A loss of power may take it; witnesses have it still."""
        ...
