"""The handlers of this extension, and the form of stored proofs in answers. Answers must not be cached."""

from __future__ import annotations

import orjson
from msgspec import Struct

from identity_codec.multibase import base64url_encode
from identity_codec.structs import UNSET, UnsetType
from identity_codec.times import printed
from identity_core.api.proofs import anchor, zk_proof
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.proofs.stored import StoredProof
from identity_core.errors import IdentityError
from identity_core.use_cases.proofs.steps import VERIFY_SCOPE
from identity_core.wire import Anchor
from identity_verification import wire
from identity_verification.answers import joint_question, only_predicate, shown_predicate, verification
from identity_verification.domain.received import proof_commitment
from identity_verification.domain.verification import ProofVerification
from identity_verification.use_cases.challenges import CreateVerifierChallenge
from identity_verification.use_cases.credentials import VerifyCredential
from identity_verification.use_cases.dry_run import CheckDelegatedProof, DryRun
from identity_verification.use_cases.stored import GetProof, RevokeProof
from identity_verification.use_cases.verify import VerifyProof, VerifyStoredProof


class VerificationHandlers(Struct, frozen=True):
    """Handlers of checkDelegatedProof, verifyProof, verifyStoredProof, getProof, revokeProof, verifyCredential, createVerifierChallenge."""

    check: CheckDelegatedProof
    received: VerifyProof
    stored: VerifyStoredProof
    get: GetProof
    revoke: RevokeProof
    credential: VerifyCredential
    challenge: CreateVerifierChallenge

    async def check_delegated_proof(self, request: Request) -> Answer:
        return Answer(200, checked(await self.check(request.body, request.authenticated)), headers=[NO_STORE])

    async def verify_proof(self, request: Request) -> Answer:
        if request.caller is not None:
            request.caller.require_scope(VERIFY_SCOPE)
        context = None if request.caller is None else request.showing(verified)
        return verified(await self.received(request.body, context))

    async def verify_stored_proof(self, request: Request) -> Answer:
        request.authenticated.require_scope(VERIFY_SCOPE)
        context = request.showing(anchored)
        return anchored(await self.stored(request.path["proofId"], request.body, context))

    async def get_proof(self, request: Request) -> Answer:
        stored = await self.get(request.path["proofId"], request.context)
        return Answer(200, record(stored), headers=[NO_STORE])

    async def revoke_proof(self, request: Request) -> Answer:
        stored = await self.revoke(request.path["proofId"], request.body, request.context)
        return Answer(200, record(stored), headers=[NO_STORE])

    async def verify_credential(self, request: Request) -> Answer:
        verdict = await self.credential(request.body, is_known=request.caller is not None)
        return Answer(200, verdict, headers=[NO_STORE])

    async def create_verifier_challenge(self, request: Request) -> Answer:
        text, challenge = await self.challenge(request.body, request.authenticated)
        body = wire.VerifierChallenge(challenge=text, domain=challenge.domain, expires_at=printed(challenge.expires_at))
        return Answer(201, body, headers=[NO_STORE])


def verified(verdict: ProofVerification, receipt: Anchor | None = None) -> Answer:
    """Return the answer of a verification."""
    return Answer(200, verification(verdict, receipt), headers=[NO_STORE])


def anchored(verdict: ProofVerification) -> Answer:
    """Return the answer of a verification, with the anchor of the stored proof."""
    return verified(verdict, anchor(verdict.anchor))


def checked(check: DryRun) -> wire.DelegatedProofCheck:
    """Return the answer of a check. Its reason for a refusal has the members of an error."""
    refused, found = check.refused, check.delegation
    reasons = () if refused is None else (_refusal(refused),)
    delegation: wire.CheckedDelegation | UnsetType = UNSET
    if found is not None:
        delegation = wire.CheckedDelegation(
            id=found.id, status=found.status, uses_left=found.uses_left, expires_at=printed(found.expires_at)
        )
    return wire.DelegatedProofCheck(usable=refused is None, reasons=reasons, delegation=delegation)


def _refusal(error: IdentityError) -> wire.DelegatedProofRefusal:
    return wire.DelegatedProofRefusal(code=error.code, message=str(error), details=error.answer_details())


def record(stored: StoredProof) -> wire.ProofRecord:
    """Return a stored proof."""
    revocation = stored.revocation
    return wire.ProofRecord(
        proof_id=stored.id,
        delegation_id=stored.delegation_id,
        holder_did=stored.holder,
        agent_did=stored.agent,
        credential_id=stored.credential_id,
        issuer_did=stored.issuer,
        schema_id=stored.schema_id,
        predicate=None if stored.question is not None else only_predicate(shown_predicate(stored.predicate)),
        predicates=tuple(map(shown_predicate, stored.predicates)),
        question=None if stored.question is None else joint_question(stored.question, pseudonym_value=UNSET),
        proof=zk_proof(stored.proof),
        challenge=stored.challenge,
        domain=stored.domain,
        created_at=printed(stored.created_at),
        expires_at=printed(stored.expires_at),
        revoked_at=None if revocation is None else printed(revocation.at),
        revoked_by=None if revocation is None else revocation.by,
        revocation_reason=None if revocation is None else revocation.reason,
        anchor=anchor(stored.anchor),
        anchor_details=anchor_details(stored),
    )


def anchor_details(stored: StoredProof) -> wire.AnchorDetails | None:
    """Return the path from the proof to the root that the ledger has; None while the proof is in no batch."""
    if stored.anchor_details is None:
        return None
    path = orjson.loads(stored.anchor_details)
    return wire.AnchorDetails(
        ledger=path["ledger"],
        root=path["root"],
        index=path["index"],
        size=path["size"],
        path=tuple(path["path"]),
        sealed_at=path["sealedAt"],
        salt=base64url_encode(stored.salt),
        commitment=base64url_encode(proof_commitment(stored.proof, stored.salt)),
    )
