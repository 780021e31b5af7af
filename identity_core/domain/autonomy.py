"""How much an agent may do by itself (research/delegation.md §3.2).

Levels are integers from 0 to 5; a higher one means less involvement of people, as in SAE J3016. What a request needs is a table
of the installation; what an agent has is the lowest level of its chain of delegations, under the installation's ceiling.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from identity_core.errors import AutonomyTooLow, JsonValue

HIGHEST: Final = 5


@dataclass(frozen=True, slots=True)
class AutonomyTable:
    """The levels that requests need. ``pinned``: a proof of a value that the holder fixed; ``chosen``: of one that the agent chose;
    ``anchor`` is what ``anchor: true`` adds to either, because a ledger forgets nothing; ``delegate``: a delegation to another
    agent; ``metadata``: reading a credential without its values. No agent has more than ``ceiling``."""

    metadata: int = 1
    pinned: int = 2
    chosen: int = 3
    anchor: int = 1
    delegate: int = 5
    ceiling: int = HIGHEST

    def required_autonomy(self, *, pinned: bool, anchor: bool) -> int:
        """What a proof needs."""
        return (self.pinned if pinned else self.chosen) + (self.anchor if anchor else 0)

    def check_proof(self, level: int, *, pinned: bool, anchor: bool) -> None:
        """Raises ``AutonomyTooLow``, whose ``details.remedies`` name every way out at once."""
        required = self.required_autonomy(pinned=pinned, anchor=anchor)
        remedies = []
        if not pinned and level >= self.required_autonomy(pinned=True, anchor=anchor):
            remedies.append("let the holder pin the value: in the action of the IBCT, or in a grant of the delegation")
        if anchor and level >= self.required_autonomy(pinned=pinned, anchor=False):
            remedies.append("send anchor: false")
        if not pinned and anchor and not remedies and level >= self.pinned:
            remedies.append("let the holder pin the value, and send anchor: false")
        self._check(level, required, remedies)

    def check_metadata(self, level: int) -> None:
        """Raises ``AutonomyTooLow`` for an agent that may not read a credential's metadata."""
        self._check(level, self.metadata, [])

    def check_delegate(self, level: int) -> None:
        """Raises ``AutonomyTooLow`` for an agent that may not delegate further."""
        self._check(level, self.delegate, ["let the holder delegate to the other agent"])

    def _check(self, level: int, required: int, remedies: Sequence[str]) -> None:
        effective = min(level, self.ceiling)
        if effective >= required:
            return
        named: list[JsonValue] = [*remedies]
        if required <= self.ceiling:
            named.append(f"let the holder delegate with autonomyLevel {required} or more")
        raise AutonomyTooLow(details={"required": required, "effective": effective, "remedies": named})
