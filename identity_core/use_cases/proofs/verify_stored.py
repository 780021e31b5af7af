"""verifyStoredProof: a proof that is kept here, checked anew, and what has become since of all that it stands on.

A revoked proof and a credential that is no longer in force make it wrong. A delegation that ended does not: it was in force
when the proof was made, and is a warning. Whoever knows the id may ask, because the id cannot be guessed and stands in the
proof; what is answered a verifier who holds the proof may know.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime

from identity_core.domain.anchor import Anchor, AnchorStatus
from identity_core.domain.credential import Credential, CredentialStatus
from identity_core.domain.delegation import DelegationState
from identity_core.domain.delegation_chain import DelegationChain
from identity_core.domain.errors import ProofNotFound
from identity_core.domain.verification import Check, Finding, Question, Verdict, right, wrong
from identity_core.ports.clock import Clock
from identity_core.ports.credentials import Credentials
from identity_core.ports.delegations import Delegations
from identity_core.ports.proofs import Proofs, StoredProof
from identity_core.use_cases.dids.writer import Occasion
from identity_core.use_cases.proofs.check import CheckProof
from identity_core.use_cases.proofs.freshness import Freshness
from identity_core.use_cases.proofs.recording import RecordVerification
from identity_core.use_cases.proofs.verify import ReceivedProof

_DELEGATION_WARNINGS = {
    DelegationState.REVOKED: Finding.DELEGATION_REVOKED,
    DelegationState.EXPIRED: Finding.DELEGATION_EXPIRED,
    DelegationState.SUSPENDED: Finding.DELEGATION_SUSPENDED,
}
_ANCHOR_WARNINGS = {
    AnchorStatus.FAILED: Finding.ANCHOR_FAILED,
    AnchorStatus.REVOKED: Finding.ANCHOR_REVOKED,
}


@dataclass(frozen=True, slots=True)
class VerifyStoredProof:
    """Raises ``ProofNotFound``, and what ``CheckProof`` does."""

    check: CheckProof
    freshness: Freshness
    proofs: Proofs
    credentials: Credentials
    delegations: Delegations
    record: RecordVerification
    clock: Clock

    async def __call__(self, proof_id: str, question: Question, occasion: Occasion) -> tuple[Verdict, StoredProof]:
        now = self.clock.now()
        stored = await self.proofs.get(proof_id)
        if stored is None:
            raise ProofNotFound
        question, stale = await self.freshness.bound(question, occasion.caller, now)
        proof = stored.proof
        received = ReceivedProof(proof.proof, proof.public_signals, proof.predicate_type, proof.proof_id)
        verdict = await self.check(received, question, now)
        # Asked after the mathematics, so that what was revoked meanwhile is seen.
        standing = await self._standing(stored, now)
        extra = [] if stale is None else [stale]
        warnings = tuple(_warnings(await self.delegations.chain(stored.delegation_id), stored.anchor, now))
        verdict = replace(verdict, checks=(*verdict.checks, *extra, *standing), warnings=warnings)
        verdict = await self.freshness.settle(question, verdict, now)
        await self.record(verdict, stored, occasion, now)
        return verdict, stored

    async def _standing(self, stored: StoredProof, now: datetime) -> list[Check]:
        """The state of the proof and of its credential."""
        newest = await self.proofs.get(stored.id)
        revoked = newest is None or newest.revocation is not None
        return [
            wrong("revocation", Finding.PROOF_REVOKED) if revoked else right("revocation"),
            _credential_check(await self.credentials.get(stored.credential_id), now),
        ]


def _credential_check(credential: Credential | None, now: datetime) -> Check:
    if credential is None:
        return wrong("credential", Finding.CREDENTIAL_UNKNOWN)
    if credential.status is CredentialStatus.REVOKED:
        return wrong("credential", Finding.CREDENTIAL_REVOKED)
    if credential.status is CredentialStatus.SUSPENDED:
        return wrong("credential", Finding.CREDENTIAL_SUSPENDED)
    if now < credential.valid_from or (credential.valid_until is not None and now >= credential.valid_until):
        return wrong("credential", Finding.CREDENTIAL_EXPIRED)
    return right("credential")


def _warnings(chain: DelegationChain | None, anchor: Anchor | None, now: datetime) -> list[Finding]:
    """A used-up delegation is in order: using it up is what it was given for."""
    found: list[Finding] = []
    if chain is None:
        found.append(Finding.DELEGATION_UNKNOWN)
    elif (state := chain.state(now)) in _DELEGATION_WARNINGS:
        found.append(_DELEGATION_WARNINGS[state])
    if anchor is not None and anchor.status in _ANCHOR_WARNINGS:
        found.append(_ANCHOR_WARNINGS[anchor.status])
    return found
