"""The hand-over by an agent of a proof to which its holder consented in advance (PROTOCOL-2.md §5.4)."""

from __future__ import annotations

from identity_bound_credentials.domain.presented import handed_over
from identity_client.did_auth import Signer


def hand_over(proof: str, signer: Signer, *, audience: str, challenge: str) -> str:
    """Return the text ``ZKProof.proof`` with the agent's signature, which the verifier needs. Raises ``ProofInvalid`` for a proof
    that names another key, audience or challenge, which is not signed. Raises ``ValueError``: for a signer without an Ed25519 key."""
    pair = signer.pair
    return handed_over(proof, pair.public, pair.sign, audience=audience, challenge=challenge.encode())
