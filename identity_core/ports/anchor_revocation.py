"""Taking an anchor back: the other half of anchoring, for proofs that are revoked after they were anchored.

The anchored tree itself does not change; a revocation of the one leaf is put on the ledger beside it.
"""

from __future__ import annotations

from typing import Protocol

from identity_core.domain.anchor import Anchor


class AnchorRevocation(Protocol):
    """What revokes anchors of stored proofs."""

    async def revoke(self, proof_id: str, wait_ms: int) -> Anchor | None:
        """The receipt of a proof whose anchor is to be revoked: at once when ``wait_ms`` is 0, else as soon as it is, and at the latest
        after that time as it stands then; None for a proof without an anchor. Repeating it changes nothing.

        Holds neither a transaction nor a worker. Trouble of the ledger shows in the receipt, never as an exception.
        """
        ...
