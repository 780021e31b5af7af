"""The current state of everything on which a stored proof depends: the proof itself, its credential, its delegation,
its anchor.

A proof does not contain this state, so it is read from records. A client that could read it forever could follow a holder by the
changes. Therefore only participants receive it, and only until the proof expires; afterwards the answer is "expired".

Verification for unauthenticated clients: in a separate process, and few at once.

Any client may have a proof verified, and the largest takes a hundred milliseconds of CPU time. So unauthenticated clients have a
separate worker of the lowest priority, and no queue that could grow: when it is full, a request is refused at once. Their requests
never delay the making of a proof.

verifyProof: the check of a proof in the request.

An invalid proof is an answer and not an error. An authenticated caller leaves a row in the history; an unauthenticated client leaves
none. If the proof is stored here, and the caller took part in it, the recorded state of its credential counts.

verifyStoredProof: a repeated check of a proof that is stored here, with the current state of everything on which it depends.

A revoked proof and a credential that is no longer in force make the result negative. A delegation that ended does not: it was in
force when the proof was made, and is a warning. Any client that knows the id may call it, because the id cannot be guessed and is in
the proof. A caller that took no part in the proof receives what a verifier of the proof receives; after its expiry, no caller
receives more.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_codec.structs import value_or
from identity_codec.values import replace
from identity_core.domain.activity import Event, ProofVerified, RequestContext
from identity_core.domain.callers import Caller
from identity_core.domain.credentials.credential import CredentialStatus
from identity_core.domain.delegations.chain import DelegationChain
from identity_core.domain.delegations.delegation import DelegationState
from identity_core.domain.proofs.proof import PresentedProof
from identity_core.domain.proofs.stored import Anchor, AnchorStatus, StoredProof
from identity_core.errors import ProofNotFound
from identity_core.ports.clock import Clock
from identity_core.use_cases.record import Record
from identity_verification.domain.checks import Check, CheckCode, right, wrong
from identity_verification.domain.received import NEVER_PROVEN, ReceivedProof
from identity_verification.domain.verification import Expectation, ProofVerification
from identity_verification.expectation import expectation_of
from identity_verification.ports import CredentialRecord, Proofs
from identity_verification.use_cases.check import CheckProof
from identity_verification.use_cases.stored import ChallengeUse, ProofAccess
from identity_verification.wire import VerifyProofRequest, VerifyStoredProofRequest

_DELEGATION_WARNINGS: Final = {
    DelegationState.REVOKED: CheckCode.DELEGATION_REVOKED,
    DelegationState.EXPIRED: CheckCode.DELEGATION_EXPIRED,
    DelegationState.SUSPENDED: CheckCode.DELEGATION_SUSPENDED,
}
_ANCHOR_WARNINGS: Final = {AnchorStatus.FAILED: CheckCode.ANCHOR_FAILED, AnchorStatus.REVOKED: CheckCode.ANCHOR_REVOKED}


class ProofStatus(Struct, frozen=True):
    """The completion of verdicts about stored proofs."""

    access: ProofAccess
    proofs: Proofs

    async def __call__(
        self, verdict: ProofVerification, stored: StoredProof, caller: Caller, now: datetime
    ) -> ProofVerification:
        """Return the verdict with the state of the records and the proof's anchor. If the caller may not read them, return the verdict
        unchanged. Call it after the verification of the proof, so that a revocation meanwhile is included."""
        if now >= stored.expires_at or not await self.access.knows_status(stored, caller):
            return verdict
        records = await self.proofs.records(stored)
        found = [_credential_check(credential, now) for credential in records.credentials]
        checks = (
            wrong("revocation", CheckCode.PROOF_REVOKED) if records.revoked else right("revocation"),
            # The first of several credentials that is not in force makes the verdict negative.
            next((check for check in found if not check.ok), found[0]),
        )
        warnings = _warnings(records.chain, stored.anchor, now)
        # This service has not seen the holder's token of an imported proof.
        told = set(NEVER_PROVEN) - (set() if stored.ibct_id else {"holder"})
        unchecked = tuple(name for name in verdict.unchecked if name not in told)
        return replace(
            verdict,
            checks=(*verdict.checks, *checks),
            warnings=(*verdict.warnings, *warnings),
            unchecked=unchecked,
            anchor=stored.anchor,
        )


def _credential_check(credential: CredentialRecord | None, now: datetime) -> Check:
    if credential is None:
        return wrong("credential", CheckCode.CREDENTIAL_UNKNOWN)
    if credential.status is CredentialStatus.REVOKED:
        return wrong("credential", CheckCode.CREDENTIAL_REVOKED)
    if credential.status is CredentialStatus.SUSPENDED:
        return wrong("credential", CheckCode.CREDENTIAL_SUSPENDED)
    if now < credential.valid_from or (credential.valid_until is not None and now >= credential.valid_until):
        return wrong("credential", CheckCode.CREDENTIAL_EXPIRED)
    return right("credential")


def _warnings(chain: DelegationChain | None, anchor: Anchor | None, now: datetime) -> list[CheckCode]:
    """Return the warnings about delegation and anchor. A used-up delegation is not one: its uses are intended."""
    found: list[CheckCode] = []
    if chain is None:
        found.append(CheckCode.DELEGATION_UNKNOWN)
    elif (state := chain.state(now)) in _DELEGATION_WARNINGS:
        found.append(_DELEGATION_WARNINGS[state])
    if anchor is not None and anchor.status in _ANCHOR_WARNINGS:
        found.append(_ANCHOR_WARNINGS[anchor.status])
    return found


def _event(verdict: ProofVerification, stored: StoredProof | None) -> Event:
    """Return the event of a verification. ``stored`` is the stored proof, if it is exactly the verified one. Only its holder can read the
    event: agent and issuer must not learn which verifiers receive a proof."""
    parties, proof_id = None, None if verdict.presented is None else verdict.presented.context.proof_id
    if stored is not None:
        parties, proof_id = replace(stored.parties, agent=None, issuer=None), stored.id
    return ProofVerified(
        "proof.verified",
        proof_id,
        parties,
        code=next(map(str, verdict.errors), None),
        details={"verified": verdict.verified, "verdict": verdict.verdict, "reasons": [*map(str, verdict.errors)]},
        verification=verdict,
    )


class VerifyProof(Struct, frozen=True):
    """Use case verifyProof. ``check_anonymously`` has the worker for unauthenticated clients. Raises the errors of ``CheckProof``."""

    check: CheckProof
    check_anonymously: CheckProof
    freshness: ChallengeUse
    proofs: Proofs
    status: ProofStatus
    record: Record
    clock: Clock

    async def __call__(self, wish: VerifyProofRequest, context: RequestContext | None) -> ProofVerification:
        """Verify a proof. ``context`` is None for an unauthenticated client. Raises ``InvalidRequest`` too."""
        signals, kind = value_or(wish.public_signals, None), value_or(wish.predicate_type, None)
        received = ReceivedProof(wish.proof, signals, kind, value_or(wish.proof_id, None))
        return await self.verified(received, expectation_of(wish), context)

    async def verified(
        self,
        received: ReceivedProof,
        question: Expectation,
        context: RequestContext | None,
        stored: StoredProof | None = None,
    ) -> ProofVerification:
        """Verify a received proof. ``stored``: the stored proof, if this service has it."""
        now = self.clock.now()
        if stored is not None and now >= stored.expires_at:
            verdict = await self.check.expired(received, question)
        else:
            caller = None if context is None else context.caller
            question, stale = await self.freshness.bound(question, caller, now)
            check = self.check_anonymously if context is None else self.check
            verdict = await check(received, question, now)
            if stale is not None:
                verdict = replace(verdict, checks=(*verdict.checks, stale))
            if caller is not None:
                stored = stored or await self._find_stored(received, verdict)
                verdict = verdict if stored is None else await self.status(verdict, stored, caller, now)
            verdict = await self.freshness.settle(question, verdict, context, now)
        if context is not None:
            await self.record(context, _event(verdict, stored), now)
        return verdict

    async def _find_stored(self, received: ReceivedProof, verdict: ProofVerification) -> StoredProof | None:
        """Return the stored proof that equals this one in every byte, except for the signature of the presenting agent; or None. The id
        alone is not sufficient, because any client can write it into a proof."""
        if verdict.presented is None:
            return None
        presented, text = verdict.presented, received.proof
        stored = await self.proofs.get(presented.context.proof_id)
        made = text if isinstance(presented, PresentedProof) else presented.as_made(text)
        return stored if stored is not None and stored.proof.proof == made else None


class VerifyStoredProof(Struct, frozen=True):
    """Use case verifyStoredProof. Raises ``InvalidRequest``, ``ProofNotFound``, and the errors of ``CheckProof``."""

    verify: VerifyProof

    async def __call__(
        self, proof_id: str, wish: VerifyStoredProofRequest, context: RequestContext
    ) -> ProofVerification:
        question = expectation_of(wish)
        stored = await self.verify.proofs.get(proof_id)
        if stored is None:
            raise ProofNotFound
        return await self.verify.verified(ReceivedProof.from_proof(stored.proof), question, context, stored)
