"""The checks of a proof that need nothing but the proof, the verifier's question and the issuer's document.

Both verify operations make them; whatever an attacker wrote into the proof ends in a check that is wrong, never in an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from identity_core.domain.proof import PresentedProof, ZkProof, public_signals
from identity_core.domain.verification import (
    Check,
    CheckCode,
    ProofQuestion,
    ProofVerification,
    check_time,
    moment_within,
    right,
    wrong,
)
from identity_core.errors import ProofInvalid
from identity_core.ports.credentials import CredentialSchemas
from identity_core.ports.prover import ProofWorkers
from identity_core.use_cases.proofs.issuer_keys import IssuerKeys
from identity_core.use_cases.proofs.verify import ReceivedProof


@dataclass(frozen=True, slots=True)
class CheckProof:
    """Raises ``PluginUnavailable``, ``PluginTimeout`` and ``Overloaded`` when the prover cannot be asked: nothing is known then."""

    provers: ProofWorkers
    issuers: IssuerKeys
    schemas: CredentialSchemas

    async def __call__(self, received: ReceivedProof, question: ProofQuestion, now: datetime) -> ProofVerification:
        try:
            presented = await self.provers.read(received.proof)
        except ProofInvalid:
            return ProofVerification((wrong("form", CheckCode.PROOF_INVALID),), None, question.unchecked)
        checks = [right("form"), *question.compare(presented, now), check_time(presented.context, now)]
        unchecked = question.unchecked
        registered = await self.schemas.get(presented.schema.id)
        if registered is None:
            unchecked += ("schemaHeader",)
        elif registered.definition.schema.header != presented.schema.header:
            # An issuer that signs one schema under several headers tells its holders apart by them.
            checks.append(wrong("schemaHeader", CheckCode.SCHEMA_MISMATCH))
        else:
            checks.append(right("schemaHeader"))
        found = await self.issuers(presented.verification_method, now)
        checks.append(found.check)
        if found.raw is not None:
            checks += await self._mathematics(received, presented, found.raw, now)
        return ProofVerification(tuple(checks), presented, unchecked, found.warnings)

    async def expired(self, received: ReceivedProof, question: ProofQuestion) -> ProofVerification:
        """That the proof has expired, and nothing else about it but what it says of itself."""
        try:
            presented = await self.provers.read(received.proof)
        except ProofInvalid:
            presented = None
        return ProofVerification((wrong("time", CheckCode.PROOF_EXPIRED),), presented, question.unchecked)

    async def _mathematics(
        self, received: ReceivedProof, presented: PresentedProof, key: bytes, now: datetime
    ) -> tuple[Check, Check]:
        """What stands around the envelope against what is in it, and the envelope itself under the issuer's key."""
        statement = presented.statement(key)
        proof = ZkProof(
            received.proof,
            public_signals(self.provers.suite, statement, presented.context),
            ",".join(predicate.type.value for predicate in presented.predicates),
            presented.context.proof_id,
        )
        signals = right("publicSignals")
        if not received.agrees_with(proof):
            signals = wrong("publicSignals", CheckCode.PUBLIC_SIGNALS_MISMATCH)
        moment = moment_within(presented.context, now)
        try:
            await self.provers.verify(statement, proof, context=presented.context, now=moment)
        except ProofInvalid:
            return signals, wrong("proof", CheckCode.PROOF_INVALID)
        return signals, right("proof")
