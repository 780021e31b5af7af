"""Putting a commitment to a proof on a ledger, as the operation that makes proofs sees it (research/delegation.md §3.11).

That a proof is to be anchored is part of its row from the beginning (status ``pending``), so no crash loses it; ``request``
only wakes whoever does the work, and may wait for the outcome.
"""

from __future__ import annotations

from typing import Protocol

from identity_core.domain.anchor import Anchor


class AnchoringPort(Protocol):
    """The anchoring of this installation."""

    @property
    def enabled(self) -> bool:
        """Whether ``anchor: true`` is obeyed; if not it is refused before anything else is looked at."""
        ...

    async def request(self, proof_id: str, wait_ms: int) -> Anchor:
        """The receipt of a stored proof: at once when ``wait_ms`` is 0, else as soon as it is confirmed or failed, and at the latest
        after that time as it stands then.

        Holds neither a transaction nor a worker. Trouble of the ledger is a receipt (``failed``), never an exception.
        """
        ...
