"""Who may see or take back a stored proof: its holder, its agent, and an operator who may act for the holder.

For everybody else there is no such proof: one look-up and one answer, whether it exists or not. Its status is also for the
verifier whose challenge it answers.
"""

from __future__ import annotations

from dataclasses import dataclass

from identity_core.domain.caller import Caller
from identity_core.errors import ProofNotFound
from identity_core.ports.proofs import Proofs, StoredProof
from identity_core.ports.verifications import VerifierChallenges
from identity_core.use_cases.proofs.challenge_use import PREFIX, owner_of


@dataclass(frozen=True, slots=True)
class ProofAccess:
    """Finds a proof for somebody who has a part in it."""

    proofs: Proofs
    challenges: VerifierChallenges

    async def __call__(self, proof_id: str, caller: Caller, scope: str) -> StoredProof:
        """Raises ``Forbidden`` for a key or token without ``scope``, which says nothing about the proof, and ``ProofNotFound``."""
        caller.require_scope(scope)
        stored = await self.proofs.get(proof_id)
        if stored is None or not _takes_part(stored, caller):
            raise ProofNotFound
        return stored

    async def knows_status(self, stored: StoredProof, caller: Caller) -> bool:
        """Whether the caller may learn what has become of the proof: who has a part in it, and the verifier for whose challenge, obtained
        here, it was made."""
        if _takes_part(stored, caller):
            return True
        if stored.challenge is None or not stored.challenge.startswith(PREFIX):
            return False
        challenge = await self.challenges.find(stored.challenge)
        return challenge is not None and challenge.owner == owner_of(caller)


def _takes_part(stored: StoredProof, caller: Caller) -> bool:
    if caller.api_key is not None:
        targets = caller.api_key.allowed_targets
        return targets is None or stored.holder in targets
    return str(caller.did or caller.subject) in (stored.holder, stored.agent)
