"""The port of the checks of a suite, and those of suite 1. An extension provides those of suite 2 as the service ``SuiteChecks``."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Protocol

from identity_core.domain.proofs.proof import PresentedProof, Statement, ZkProof, public_signals
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_core.ports.prover import ProofWorkers
from identity_verification.domain.checks import Check, CheckCode, right, wrong
from identity_verification.domain.expected import AnyPresented
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import Expectation


class SuiteChecks(Protocol):
    """The checks of the proofs of a suite."""

    @property
    def name(self) -> str:
        """The first public signal of its proofs; empty if the prover names it."""

    async def read(self, provers: ProofWorkers, text: str) -> AnyPresented:
        """Return the unverified content of a proof. Raises ``ProofInvalid``: when it is not a proof of this suite."""

    async def check(
        self,
        provers: ProofWorkers,
        received: ReceivedProof,
        presented: Any,
        keys: Mapping[str, bytes],
        expectation: Expectation,
        now: datetime,
    ) -> tuple[Check, Check]:
        """Check the members around the text of a proof, and the proof.

        ``presented``: what ``read`` returned. ``keys``: raw keys of 96 bytes, by its methods."""


class SuiteOneChecks:
    """The checks of suite 1."""

    name: Final = ""

    async def read(self, provers: ProofWorkers, text: str) -> PresentedProof:
        """See ``SuiteChecks``."""
        return await provers.read(text)

    async def check(
        self,
        provers: ProofWorkers,
        received: ReceivedProof,
        presented: PresentedProof,
        keys: Mapping[str, bytes],
        expectation: Expectation,
        now: datetime,
    ) -> tuple[Check, Check]:
        """See ``SuiteChecks``."""
        signals, context = right("publicSignals"), presented.context
        try:
            statement = presented.statement(keys[presented.verification_method])
            own = own_members(received.proof, provers.suite, statement, presented)
            signals = compared(received, own)
            await provers.verify(statement, own, context=context, now=now)
        except (ProofInvalid, PredicateUnsupported):
            return signals, wrong("proof", CheckCode.PROOF_INVALID)
        return signals, right("proof")


def own_members(text: str, suite: str, statement: Statement, presented: PresentedProof) -> ZkProof:
    """Return the proof ``text`` with the members that its own content determines."""
    kinds = ",".join(predicate.type.value for predicate in presented.predicates)
    return ZkProof(text, public_signals(suite, statement, presented.context), kinds, presented.context.proof_id)


def compared(received: ReceivedProof, own: ZkProof) -> Check:
    """Return the check of the members outside of the text of a proof."""
    is_same = received.completed(own) == own
    return right("publicSignals") if is_same else wrong("publicSignals", CheckCode.PUBLIC_SIGNALS_MISMATCH)
