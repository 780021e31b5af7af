"""Challenges of verifiers: obtained here for one domain, valid for one successful verification (openapi/DECISIONS.md §4.9).

A verifier passes the text to the agent, which requests a proof bound to it. The first successful verification uses it up. A verifier
may also use challenges of its own: those are only compared, and the verifier must ensure that they are used once.

The holder, the agent, and an operator that may act for the holder may read or revoke a stored proof.

For all other callers the proof does not exist: there is one query and one answer, whether it exists or not. The verifier whose challenge
it answers may also read its status.

getProof: a stored proof for its participants.

revokeProof: the holder, the agent that obtained it, or an operator revokes a proof.

The proof remains mathematically valid; from now on the stored verification refuses it. Only the first revocation counts; a repetition
changes nothing. If the proof was anchored, its anchor is revoked too.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from msgspec import Struct

from identity_codec.structs import value_or
from identity_codec.values import replace
from identity_core.domain.activity import Event, EventRecord, RequestContext, StatusChanged
from identity_core.domain.callers import Caller
from identity_core.domain.proofs.stored import ProofRevocation, StoredProof
from identity_core.errors import Forbidden, ProofNotFound
from identity_core.ports.clock import Clock
from identity_core.ports.proofs import Anchoring
from identity_core.use_cases.proofs.steps import PROVE_SCOPE, VERIFY_SCOPE
from identity_core.use_cases.record import Record
from identity_verification.domain.checks import Check, CheckCode, wrong
from identity_verification.domain.verification import Expectation, ProofVerification
from identity_verification.ports import Proofs, VerifierChallenges
from identity_verification.wire import RevokeProofRequest

PREFIX: Final = "vc1_"
"""The prefix of every challenge of this service. It distinguishes a deleted one from a challenge of the verifier's own."""
_NAME: Final = "challengeUse"
"""The name of this check. The separate check ``challenge`` compares the text."""


class ChallengeUse(Struct, frozen=True):
    """The check and the use of the challenge of a question."""

    challenges: VerifierChallenges

    async def bound(
        self, question: Expectation, caller: Caller | None, now: datetime
    ) -> tuple[Expectation, Check | None]:
        """Return the question with the domain of the challenge, and the failed check of the challenge, or None."""
        text = _own_challenge(question)
        if text is None:
            return question, None
        found = await self.challenges.find(text)
        if found is None or caller is None or found.owner != caller.owner or now >= found.expires_at:
            # Unknown, expired and another caller's challenge have one answer: a caller does not learn which ones others have.
            return question, wrong(_NAME, CheckCode.CHALLENGE_UNKNOWN)
        if question.audience not in (None, found.domain):
            return question, wrong("domain", CheckCode.DOMAIN_MISMATCH)
        question = replace(question, audience=found.domain)
        return question, wrong(_NAME, CheckCode.CHALLENGE_SPENT) if found.spent else None

    async def settle(
        self, question: Expectation, verdict: ProofVerification, context: RequestContext | None, now: datetime
    ) -> ProofVerification:
        """Use up the challenge of a successful verification, and store its answer in the same transaction. The verdict fails if another
        request used it first."""
        text = _own_challenge(question)
        if not verdict.verified or text is None or context is None:
            return verdict
        with context.keeping(lambda used: used and verdict):
            is_first = await self.challenges.spend(text, now)
        spent = () if is_first else (wrong(_NAME, CheckCode.CHALLENGE_SPENT),)
        return replace(verdict, checks=(*verdict.checks, *spent))


def _own_challenge(question: Expectation) -> str | None:
    """Return the text of a challenge that was obtained here; None for a challenge of the verifier's own."""
    is_ours = question.nonce is not None and question.nonce.startswith(PREFIX.encode())
    return question.nonce.decode() if is_ours and question.nonce is not None else None


class ProofAccess(Struct, frozen=True):
    """Lookup of a proof for a caller that took part in it."""

    proofs: Proofs
    challenges: VerifierChallenges

    async def __call__(self, proof_id: str, caller: Caller, scope: str) -> StoredProof:
        """Return the proof. Raises ``Forbidden``: when the key or token does not have ``scope``, whether the proof exists or not. Raises
        ``ProofNotFound``."""
        caller.require_scope(scope)
        stored = await self.proofs.get(proof_id)
        if stored is None or not _takes_part(stored, caller):
            raise ProofNotFound
        return stored

    async def knows_status(self, stored: StoredProof, caller: Caller) -> bool:
        """Return whether the caller may read the status of the proof. Participants may, and the verifier that obtained the challenge of
        the proof here."""
        if _takes_part(stored, caller):
            return True
        if stored.challenge is None or not stored.challenge.startswith(PREFIX):
            return False
        challenge = await self.challenges.find(stored.challenge)
        return challenge is not None and challenge.owner == caller.owner


def _takes_part(stored: StoredProof, caller: Caller) -> bool:
    if caller.api_key is not None:
        targets = caller.api_key.allowed_targets
        return targets is None or stored.holder in targets
    return str(caller.acting) in (stored.holder, stored.agent)


class GetProof(Struct, frozen=True):
    """Use case getProof. Raises the errors of ``ProofAccess``. A read by an operator is audited."""

    access: ProofAccess
    record: Record
    clock: Clock

    async def __call__(self, proof_id: str, context: RequestContext) -> StoredProof:
        stored = await self.access(proof_id, context.caller, VERIFY_SCOPE)
        if context.caller.key is not None:
            await self.record(context, Event(target=stored.holder, details={"proofId": stored.id}), self.clock.now())
        return stored


REVOKED = "proof.revoked"


class RevokeProof(Struct, frozen=True):
    """Use case revokeProof. Raises the errors of ``ProofAccess``. Raises ``Forbidden``: when the caller is a client of the code flow."""

    access: ProofAccess
    proofs: Proofs
    anchoring: Anchoring
    clock: Clock

    async def __call__(self, proof_id: str, wish: RevokeProofRequest, context: RequestContext) -> StoredProof:
        if context.caller.client is not None:
            raise Forbidden("A client that a DID has let in takes nothing back.")
        before = await self.access(proof_id, context.caller, PROVE_SCOPE)
        revocation = ProofRevocation(self.clock.now(), context.caller.identity, value_or(wish.reason, None))
        parties = replace(before.parties, issuer=None)
        event = StatusChanged(REVOKED, before.holder, parties, details={"proofId": before.id})
        stored = await self.proofs.revoke(before.id, revocation, EventRecord(event, context, revocation.at))
        if stored is None:
            raise ProofNotFound
        if stored.anchor is not None:
            stored = replace(stored, anchor=await self.anchoring.revoke(stored, value_or(wish.sync_wait_ms, 0)))
        return stored
