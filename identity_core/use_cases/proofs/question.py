"""What is asked of which credential: steps 14 to 16 of generateDelegatedProof, and how the answer is found.

Everything here but ``holds`` is decided by what is public of the credential. Whether the predicate holds is a comparison: it opens the
values only in the transaction that counts the answer, after every limit (``ports/invocations.py``), so that a refusal costs no
proof and a limit tells nothing.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime

from identity_core.codec import jcs
from identity_core.domain.credential import Credential
from identity_core.domain.delegated_proof import ProofRequest
from identity_core.domain.predicate import Goal, Predicate, check_satisfied, normalise
from identity_core.domain.proof import IssuerKey, Statement
from identity_core.errors import (
    CredentialNotFound,
    JsonValue,
    PluginUnavailable,
    PredicateNotSatisfied,
    PredicateUnsupported,
)
from identity_core.ports.prover import ProofWorkers
from identity_core.use_cases.credentials.seal import CredentialSeal
from identity_core.use_cases.credentials.sealed_credentials import SealedCredentials


@dataclass(frozen=True, slots=True)
class PreparedProof:
    """A predicate of a usable credential, which has not been opened."""

    credential: Credential
    predicate: Predicate
    goals: tuple[Goal, ...]
    seal: CredentialSeal

    def holds(self, sealed: bytes) -> bool:
        """See ``Holds``. Raises ``InternalError`` for a box that is not this credential's."""
        witness = self.seal.open(self.credential, sealed)
        try:
            check_satisfied(self.goals, self.credential.schema.messages(witness.attributes))
        except PredicateNotSatisfied:
            return False
        return True

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
class PrepareProof:
    """Finds the credential and asks."""

    sealed_credentials: SealedCredentials
    provers: ProofWorkers

    async def find(self, request: ProofRequest) -> Credential | None:
        """The credential of the holder; None for one that does not exist and for another holder's."""
        try:
            return await self.sealed_credentials.find(request.credential_id, request.holder)
        except CredentialNotFound:
            return None

    async def __call__(
        self, request: ProofRequest, credential: Credential | None, value: JsonValue, now: datetime
    ) -> PreparedProof:
        """Raises ``CredentialNotFound``; ``CredentialRevoked``, ``CredentialExpired``; ``PredicateUnsupported``,
        ``PluginUnavailable``."""
        if credential is None:
            raise CredentialNotFound
        credential.check_usable(now)
        predicate = Predicate.parse(credential.schema, request.asked.attribute, request.asked.type, value)
        (await self.sealed_credentials.policy(credential)).check_predicate(predicate)
        supported = self.provers.predicate_types
        if not supported:
            # Before anything is spent on a prover that is not there.
            raise PluginUnavailable("No prover is available.")
        if predicate.type.value not in supported:
            raise PredicateUnsupported(details={"reason": "the prover does not know this predicate"})
        return PreparedProof(
            credential, predicate, normalise(credential.schema, (predicate,)), self.sealed_credentials.seal
        )
