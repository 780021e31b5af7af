"""The prover of suites 1 and 2. It needs the distribution identity-bound-credentials."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from identity_bound_credentials.domain.presentation import (
    Acceptance,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
)
from identity_bound_credentials.domain.presented import PresentedPresentation

from identity_core.errors import ProofInvalid
from identity_prover_bbs.single import SingleProver
from identity_prover_bbs.suite2 import PresentationEnvelope, PresentationProver, PresentationVerifier


class BbsProver(SingleProver):
    """``PresentingBatchVerifier`` of identity-bound-credentials too (PROTOCOL-2.md)."""

    # The tables of suite 2 are made by the first who needs them.

    @cached_property
    def _presenting(self) -> PresentationProver:
        return PresentationProver(self._curve, self._random)

    @cached_property
    def _accepting(self) -> PresentationVerifier:
        return PresentationVerifier(self._curve)

    def present(
        self, statement: PresentationStatement, witness: PresentationWitness, *, bound: PresentationContext
    ) -> str:
        return self._presenting.prove(statement, witness, bound)

    def read_presentation(self, text: str) -> PresentedPresentation:
        envelope = PresentationEnvelope.decode(text)
        question, pseudonym = envelope.question, envelope.shown_pseudonym
        return PresentedPresentation(question, envelope.day, envelope.epochs, envelope.bound, pseudonym)

    def verify_presentation(
        self, statement: PresentationStatement, text: str, *, bound: PresentationContext, acceptance: Acceptance
    ) -> None:
        self._accepting.verify(statement, bound, text, acceptance)

    def verify_presentations(
        self, asked: Sequence[tuple[PresentationStatement, str, PresentationContext, Acceptance]]
    ) -> list[ProofInvalid | None]:
        """Return the error of ``verify_presentation`` for each, None if it is valid; faster than one by one."""
        return self._accepting.verify_all(asked, self._random)
