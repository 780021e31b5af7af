"""Witnesses that cosign the checkpoints of the log."""

from __future__ import annotations

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
