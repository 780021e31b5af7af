"""What is asked of which credential: steps 14 to 16 of generateDelegatedProof, and whether the answer is yes.

The values of a credential are opened here and go nowhere but into the prover. Whether the predicate holds is a comparison, made
before anything is spent, so that a refusal costs no proof; it becomes known only with the transaction that counts it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import datetime

from identity_core.codec import jcs
from identity_core.domain.credential import Credential
from identity_core.domain.delegated_proof import ProofRequest
from identity_core.domain.errors import (
    CredentialNotFound,
    JsonValue,
    PluginUnavailable,
    PredicateNotSatisfied,
    PredicateUnsupported,
)
from identity_core.domain.predicate import Predicate, check_satisfied, normalise
from identity_core.domain.proof import IssuerKey, Statement, Witness
from identity_core.ports.prover import ProofWorkers
from identity_core.use_cases.credentials.vault import CredentialVault


@dataclass(frozen=True, slots=True)
class PosedQuestion:
    """A predicate of a usable credential, with what a prover needs. ``satisfied`` must not be told before it is counted."""

    credential: Credential
    predicate: Predicate
    witness: Witness = field(repr=False)
    satisfied: bool = field(repr=False)

    @property
    def statement(self) -> Statement:
        """What the verifier will see proven, under the key that signed the credential."""
        credential = self.credential
        issuer = IssuerKey(credential.verification_method, credential.issuer_public_key)
        return Statement(issuer, credential.schema, (self.predicate,))

    @property
    def digest(self) -> bytes:
        """By what the question is remembered: two ways to write one value are one question."""
        return hashlib.sha256(jcs.canonicalize(self.predicate.json)).digest()


@dataclass(frozen=True, slots=True)
class PoseQuestion:
    """Finds the credential and asks."""

    vault: CredentialVault
    provers: ProofWorkers

    async def find(self, request: ProofRequest) -> Credential | None:
        """The credential of the holder; None for one that does not exist and for another holder's."""
        try:
            return await self.vault.find(request.credential_id, request.holder)
        except CredentialNotFound:
            return None

    async def __call__(
        self, request: ProofRequest, credential: Credential | None, value: JsonValue, now: datetime
    ) -> PosedQuestion:
        """Raises ``CredentialNotFound``; ``CredentialRevoked``, ``CredentialExpired``; ``PredicateUnsupported``,
        ``PluginUnavailable``."""
        if credential is None:
            raise CredentialNotFound
        credential.check_usable(now)
        predicate = Predicate.parse(credential.schema, request.asked.attribute, request.asked.type, value)
        (await self.vault.policy(credential)).check_predicate(predicate)
        supported = self.provers.predicate_types
        if not supported:
            # Before anything is spent on a prover that is not there.
            raise PluginUnavailable("No prover is available.")
        if predicate.type.value not in supported:
            raise PredicateUnsupported(details={"reason": "the prover does not know this predicate"})
        goals = normalise(credential.schema, (predicate,))
        witness = await self.vault.witness(credential)
        try:
            check_satisfied(goals, credential.schema.messages(witness.attributes))
        except PredicateNotSatisfied:
            return PosedQuestion(credential, predicate, witness, satisfied=False)
        return PosedQuestion(credential, predicate, witness, satisfied=True)
