"""Check a proof of suite 2 without a service."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from identity_verification.domain.received import ReceivedProof, moment_within
from identity_verification.domain.verification import Expectation
from identity_verification.use_cases.check import VerifiedProof

from identity_bound_credentials.domain.presentation import acceptance_of
from identity_bound_credentials.domain.presented import PresentedPresentation, presentation_signals
from identity_bound_credentials.ports import PresentingProver
from identity_core.domain.proofs.proof import ZkProof
from identity_core.errors import PredicateUnsupported, ProofInvalid


def check_presentation(
    received: ReceivedProof,
    prover: PresentingProver,
    *,
    keys: Mapping[str, bytes],
    expectation: Expectation,
    now: datetime,
) -> VerifiedProof:
    """Check a proof of suite 2, as ``identity_verification.use_cases.check`` does one of suite 1.

    ``keys``: those of the issuer and of its status list, by their methods. Raises ``ProofInvalid``."""
    presented = prover.read_presentation(received.proof)
    if not expectation.takes(presented):
        raise ProofInvalid(details={"reason": "the proof has several credentials or alternatives: state the question"})
    unchecked = expectation.compare(presented, now)
    if received.completed(own := own_members(received.proof, presented)) != own:
        raise ProofInvalid(details={"reason": "a member beside the envelope says something else"})
    try:
        statement = presented.statement(keys)
    except PredicateUnsupported as refusal:
        raise ProofInvalid(details=refusal.details) from None
    # As in the service: the proof is of now, and the consent of the time of the proof.
    presented.context.check_time(now)
    taken = acceptance_of(expectation, moment_within(presented.context, now))
    prover.verify_presentation(statement, received.proof, bound=presented.bound, acceptance=taken)
    return VerifiedProof(presented, unchecked)


def own_members(text: str, presented: PresentedPresentation) -> ZkProof:
    """Return the proof ``text`` with the unverified members that its text states."""
    asked = [each.json for credential in presented.question.credentials for each in credential.predicates]
    kinds = ",".join(str(each["type"]) for each in asked)
    signals = presentation_signals(presented.question, presented.context)
    return ZkProof(text, signals, kinds, presented.context.proof_id)
