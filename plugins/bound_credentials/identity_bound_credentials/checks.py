"""The checks of proofs of suite 2."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from identity_verification.domain.checks import Check, CheckCode, right, wrong
from identity_verification.domain.received import ReceivedProof
from identity_verification.domain.verification import Expectation
from identity_verification.suites import SuiteOneChecks, compared

from identity_bound_credentials.domain.presentation import acceptance_of
from identity_bound_credentials.domain.presented import PresentedPresentation, presentation_signals
from identity_bound_credentials.domain.question import SUITE_2
from identity_bound_credentials.worker_calls import read_presentation, verify_presentation
from identity_core.domain.proofs.proof import ZkProof
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_core.ports.prover import ProofWorkers


class BoundChecks:
    """The port ``SuiteChecks`` for proofs of suite 2, which need nothing of the service."""

    __slots__ = ()
    name: Final = SUITE_2

    async def read(self, provers: ProofWorkers, text: str) -> PresentedPresentation:
        """See ``SuiteChecks``."""
        return await read_presentation(provers, text)

    async def check(
        self,
        provers: ProofWorkers,
        received: ReceivedProof,
        presented: PresentedPresentation,
        keys: Mapping[str, bytes],
        expectation: Expectation,
        now: datetime,
    ) -> tuple[Check, Check]:
        """See ``SuiteChecks``."""
        signals = compared(received, own_members(received.proof, presented))
        if presented.awaits_agent(received.proof):
            return signals, wrong("proof", CheckCode.AGENT_SIGNATURE_MISSING)
        taken = acceptance_of(expectation, now)
        try:
            statement = presented.statement(keys)
            await verify_presentation(provers, statement, received.proof, bound=presented.bound, acceptance=taken)
        except (ProofInvalid, PredicateUnsupported):
            return signals, wrong("proof", CheckCode.PROOF_INVALID)
        return signals, right("proof")


SUITES: Final = (SuiteOneChecks(), BoundChecks())
"""The checks of both suites."""


def own_members(text: str, presented: PresentedPresentation) -> ZkProof:
    """Return the proof ``text`` with the unverified members that its text states."""
    asked = [each.json for credential in presented.question.credentials for each in credential.predicates]
    kinds = ",".join(str(each["type"]) for each in asked)
    signals = presentation_signals(presented.question, presented.context)
    return ZkProof(text, signals, kinds, presented.context.proof_id)
