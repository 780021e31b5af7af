"""Who may see or take back a stored proof: its holder, its agent, and an operator who may act for the holder.

For everybody else there is no such proof: one look-up and one answer, whether it exists or not.
"""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.caller import Caller
from identity_core.domain.errors import ProofNotFound
from identity_core.ports.proofs import Proofs, StoredProof


@dataclass(frozen=True, slots=True)
class ProofAccess:
    """Finds a proof for somebody who has a part in it."""

    proofs: Proofs

    async def __call__(self, proof_id: str, caller: Caller, scope: str) -> StoredProof:
        """Raises ``Forbidden`` for a key or token without ``scope``, which says nothing about the proof, and ``ProofNotFound``."""
        caller.require_scope(scope)
        stored = await self.proofs.get(proof_id)
        if stored is None or not _takes_part(stored, caller):
            raise ProofNotFound
        return stored


def _takes_part(stored: StoredProof, caller: Caller) -> bool:
    if caller.api_key is not None:
        targets = caller.api_key.allowed_targets
        return targets is None or stored.holder in targets
    return str(caller.did or caller.subject) in (stored.holder, stored.agent)
