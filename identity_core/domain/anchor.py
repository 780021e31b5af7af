"""The compact receipt of a proof's anchor on a ledger, and how its status may change (contract.md §4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class AnchorStatus(StrEnum):
    """``pre-phase7`` is the status of imported proofs that are older than anchoring; our code never makes a new one."""

    PENDING = "pending"
    CONFIRMED = "confirmed"
    REVOKED = "revoked"
    FAILED = "failed"
    PRE_PHASE7 = "pre-phase7"

    def to(self, status: AnchorStatus) -> AnchorStatus:
        """``status``, if it may follow this one. Raises ``ValueError``."""
        if status not in _NEXT[self]:
            raise ValueError(f"an anchor does not go from {self.value} to {status.value}")
        return status


_NEXT: Mapping[AnchorStatus, frozenset[AnchorStatus]] = {
    AnchorStatus.PENDING: frozenset({AnchorStatus.CONFIRMED, AnchorStatus.FAILED, AnchorStatus.REVOKED}),
    # Back to pending only when the ledger's own blocks were undone deeper than it waits for.
    AnchorStatus.CONFIRMED: frozenset({AnchorStatus.REVOKED, AnchorStatus.PENDING}),
    AnchorStatus.FAILED: frozenset({AnchorStatus.PENDING}),
    # Back to what its batch is only when the block of the revocation was undone that deep.
    AnchorStatus.REVOKED: frozenset({AnchorStatus.PENDING, AnchorStatus.CONFIRMED, AnchorStatus.FAILED}),
    AnchorStatus.PRE_PHASE7: frozenset({AnchorStatus.PENDING}),
}


@dataclass(frozen=True, slots=True)
class Anchor:
    """The ``Anchor`` of the specification."""

    status: AnchorStatus
    tx_hash: str | None
    block_number: int | None
    revoked_block: int | None
