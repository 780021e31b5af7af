"""The prover of suite 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

from identity_bbs.bls12381 import Curve
from identity_client.action import PredicateType
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import ProofInvalid
from identity_prover_bbs import labels
from identity_prover_bbs.envelope import Envelope
from identity_prover_bbs.prover import Proving
from identity_prover_bbs.verifier import Verifying


class SingleProver:
    """``ports.prover.BatchVerifier`` on BBS signatures. Experimental until an outside review (PROTOCOL.md)."""

    suite: Final = labels.SUITE
    predicate_types: Final = frozenset(kind.value for kind in PredicateType)

    def __init__(self, curve: Curve, random: Callable[[int], bytes]) -> None:
        self._proving = Proving(curve, random)
        self._verifying = Verifying(curve)
        self._curve, self._random = curve, random

    def prove(self, statement: Statement, witness: Witness, *, context: Context) -> ZkProof:
        return self._proving.prove(statement, witness, context)

    def read(self, proof: str) -> PresentedProof:
        return Envelope.decode(proof).presented

    def verify(self, statement: Statement, proof: ZkProof, *, context: Context, now: datetime) -> None:
        self._verifying.verify(statement, proof, context, now)

    def verify_all(self, asked: Sequence[tuple[Statement, ZkProof, Context, datetime]]) -> list[ProofInvalid | None]:
        """Return the error of ``verify`` for each of statement, proof, context and time, None if it is valid; faster
        than one by one."""
        return self._verifying.verify_all(asked, self._random)
