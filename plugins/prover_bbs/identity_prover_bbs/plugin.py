"""The hook, the settings, and the object that the core gets."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Final

from identity_bbs.bls12381 import Curve, select
from identity_core.domain.proofs.predicate import PredicateType
from identity_core.domain.proofs.presentation import (
    Acceptance,
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
)
from identity_core.domain.proofs.presented import PresentedPresentation
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, Witness, ZkProof
from identity_core.errors import ProofInvalid
from identity_core.plugin import BuildContext, Provider, hookimpl
from identity_core.ports.prover import Prover
from identity_prover_bbs import labels
from identity_prover_bbs.envelope import Envelope
from identity_prover_bbs.prover import Proving
from identity_prover_bbs.suite2 import (
    PresentationEnvelope,
    PresentationProver,
    PresentationVerifier,
    ReceivedPresentation,
    VerifiedPresentation,
)
from identity_prover_bbs.verifier import Verifying


@dataclass(frozen=True, slots=True)
class BbsSettings:
    """``curve`` names a backend (blst, pyblst, py_ecc); empty means the first that works."""

    curve: str = ""


class BbsProver:
    """``ports.prover.PresentingProver`` on BBS signatures. Experimental until an outside review (PROTOCOL.md, PROTOCOL-2.md)."""

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
        """What ``verify`` raises for each of statement, proof, context and time, None where it holds; faster than one by one."""
        return self._verifying.verify_all(asked, self._random)

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
        """What ``verify_presentation`` raises for each, None where it holds; faster than one by one."""
        found = self._accepting.accept_all([_received(*one) for one in asked], self._random)
        return [self._refusal(answer, *one) for answer, one in zip(found, asked, strict=True)]

    def _refusal(
        self,
        answer: VerifiedPresentation | ProofInvalid,
        statement: PresentationStatement,
        text: str,
        bound: PresentationContext,
        acceptance: Acceptance,
    ) -> ProofInvalid | None:
        if isinstance(answer, ProofInvalid):
            return answer
        if (answer.statement, answer.bound) == (statement, bound):
            return None
        # What was accepted is what the text says of itself, and that is something else.
        try:
            self._accepting.verify(statement, bound, text, acceptance)
        except ProofInvalid as refused:
            return refused
        return None


def _received(
    statement: PresentationStatement, text: str, bound: PresentationContext, acceptance: Acceptance
) -> ReceivedPresentation:
    question, context = statement.question, bound.context
    keys = {one.header.method: key for one, key in zip(question.credentials, statement.keys, strict=True)}
    keys |= {part.epoch.method: part.public_key for part in statement.status}
    return ReceivedPresentation(
        text, question, keys, context.audience, context.nonce, acceptance, bound.agent_key, context.capability
    )


def build(settings: BbsSettings, context: BuildContext) -> BbsProver:
    """The prover that the settings ask for. Raises ``BackendUnavailable``."""
    curve = select(settings.curve or None)
    context.logger.info("prover bbs on curve backend %s", curve.name)
    return BbsProver(curve, os.urandom)


@hookimpl
def identity_provide_prover() -> Provider[Prover]:
    """The prover ``bbs``; masks come from the operating system's randomness and nowhere else."""
    return Provider("bbs", build, BbsSettings, "zero-knowledge predicates over BBS credentials (experimental)")
