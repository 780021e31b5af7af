"""Verify a proof that somebody sent, against what the verifier expects of it.

This is the whole check, alike for the API, the command line and whoever calls it as a library::

    check = VerifyProof(prover)
    verified = check(ReceivedProof.parse(value), issuer_key=raw_public_key, expectation=expectation, now=now)

It needs no service and no database. The issuer's key comes from the caller, who resolved it; status of the credential and
of the proof's anchor are somebody else's.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.proof import Expectation, PresentedProof, ZkProof, public_signals
from identity_core.errors import JsonValue, ProofInvalid
from identity_core.ports.prover import Prover


@dataclass(frozen=True, slots=True)
class ReceivedProof:
    """A ``ZKProof`` as it arrived: all but ``proof`` may be missing, and is checked when it is there."""

    proof: str
    public_signals: tuple[str, ...] | None
    predicate_type: str | None
    proof_id: str | None

    @classmethod
    def parse(cls, value: JsonValue) -> ReceivedProof:
        """From a ``ZKProof``, a ``DelegatedProofResult`` that holds one, or the bare text. Raises ``ProofInvalid``."""
        if isinstance(value, str):
            return cls(value, None, None, None)
        if isinstance(value, dict) and isinstance(value.get("proof"), dict):
            value = value["proof"]
        if not isinstance(value, dict):
            raise ProofInvalid(details={"reason": "not a ZKProof"})
        proof, signals = value.get("proof"), value.get("publicSignals")
        kind, proof_id = value.get("predicateType"), value.get("proofId")
        if not isinstance(proof, str) or not isinstance(kind, str | None) or not isinstance(proof_id, str | None):
            raise ProofInvalid(details={"reason": "not a ZKProof"})
        if signals is None:
            return cls(proof, None, kind, proof_id)
        if not isinstance(signals, list):
            raise ProofInvalid(details={"reason": "publicSignals is a list of strings"})
        texts = tuple(signal for signal in signals if isinstance(signal, str))
        if len(texts) != len(signals):
            raise ProofInvalid(details={"reason": "publicSignals is a list of strings"})
        return cls(proof, texts, kind, proof_id)

    def agrees_with(self, proof: ZkProof) -> bool:
        """Whether every member that came beside the text is that of ``proof``."""
        return (
            self.public_signals in (None, proof.public_signals)
            and self.predicate_type in (None, proof.predicate_type)
            and self.proof_id in (None, proof.proof_id)
        )


@dataclass(frozen=True, slots=True)
class VerifiedProof:
    """What is proven. ``unchecked`` names the parts about which the verifier had no expectation: a proof for somebody else, or
    of another question, passes there. It always names what a proof does not say: ``holder``, ``credentialValidity``,
    ``credentialStatus`` and ``revocation``."""

    presented: PresentedProof
    unchecked: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class OfflineVerification:
    """``prover`` is of the suite that the proof is of."""

    prover: Prover

    def __call__(
        self, received: ReceivedProof, *, issuer_key: bytes, expectation: Expectation, now: datetime
    ) -> VerifiedProof:
        """``issuer_key`` is the raw public key (96 octets); ``now`` aware UTC. Raises ``ProofInvalid``."""
        presented = self.prover.read(received.proof)
        unchecked = expectation.compare(presented)
        expectation.check_age(presented.context, now)
        statement = presented.statement(issuer_key)
        signals, kind, proof_id = received.public_signals, received.predicate_type, received.proof_id
        proof = ZkProof(
            received.proof,
            public_signals(self.prover.suite, statement, presented.context) if signals is None else signals,
            ",".join(predicate.type.value for predicate in presented.predicates) if kind is None else kind,
            presented.context.proof_id if proof_id is None else proof_id,
        )
        self.prover.verify(statement, proof, context=presented.context, now=now)
        return VerifiedProof(presented, unchecked)
