"""The handlers of the tag ``proofs``: made for an agent, verified, shown, revoked. Answers may not be cached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from identity_core.api import anchors, proof_parse
from identity_core.api.idempotency import REPLAYED
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.codec.times import printed
from identity_core.domain.ledger.anchoring import Anchor
from identity_core.domain.proofs.proof import ZkProof, nonce_of
from identity_core.domain.proofs.stored import MAX_SYNC_WAIT_MS, DelegatedProof, StoredProof, read_value
from identity_core.domain.proofs.verification import Expectation, ProofVerification, issuer_of
from identity_core.errors import InvalidRequest, JsonValue
from identity_core.ports.proofs import RefusedInvocation
from identity_core.use_cases.dids.index import DidReader
from identity_core.use_cases.proofs.check import ReceivedProof
from identity_core.use_cases.proofs.generate import GenerateDelegatedProof
from identity_core.use_cases.proofs.stored import VERIFY_SCOPE, GetProof, RevokeProof
from identity_core.use_cases.proofs.verify import VerifyProof, VerifyStoredProof


@dataclass(frozen=True, slots=True)
class ProofHandlers:
    """generateDelegatedProof, verifyProof, verifyStoredProof, getProof, revokeProof."""

    reader: DidReader
    generate: GenerateDelegatedProof
    received: VerifyProof
    stored: VerifyStoredProof
    get: GetProof
    revoke: RevokeProof

    async def generate_delegated_proof(self, request: Request) -> Answer:
        wish = proof_parse.proof_request(request.json(), self.reader.parse)
        answered = await self.generate(wish, request.context)
        if answered.is_replay:
            request.answer_headers = (*request.answer_headers, REPLAYED)
        if isinstance(answered.outcome, RefusedInvocation):
            raise answered.outcome.error()
        return Answer(201, result(answered.outcome), headers=[NO_STORE])

    async def verify_proof(self, request: Request) -> Answer:
        if request.caller is not None:
            request.caller.require_scope(VERIFY_SCOPE)
        context = None if request.caller is None else request.context
        received = ReceivedProof.parse(request.json())
        return _judged(await self.received(received, _question(request.json()), context), None)

    async def verify_stored_proof(self, request: Request) -> Answer:
        request.authenticated.require_scope(VERIFY_SCOPE)
        question = _question(request.json())
        verdict = await self.stored(request.path["proofId"], question, request.context)
        return _judged(verdict, verdict.anchor)

    async def get_proof(self, request: Request) -> Answer:
        return _record(await self.get(request.path["proofId"], request.context))

    async def revoke_proof(self, request: Request) -> Answer:
        body = request.json()
        context = request.context
        return _record(await self.revoke(request.path["proofId"], body.get("reason"), _wait_ms(body), context))


def result(made: DelegatedProof) -> dict[str, Any]:
    """``DelegatedProofResult`` of the document."""
    return {
        "proofId": made.proof.proof_id,
        "delegationId": made.delegation_id,
        "proof": zk_proof(made.proof),
        "anchor": anchors.anchor(made.anchor),
    }


def zk_proof(proof: ZkProof) -> dict[str, Any]:
    """``ZKProof`` of the document."""
    return {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }


def _wait_ms(body: Mapping[str, Any]) -> int:
    return min(_integer(body, "syncWaitMs") or 0, MAX_SYNC_WAIT_MS)


def _integer(body: Mapping[str, Any], member: str) -> int | None:
    """The member, where it is there. JSON Schema calls 1.0 an integer; it is refused."""
    value: int | float | None = body.get(member)
    if isinstance(value, float):
        raise InvalidRequest(f"{member} is an integer.", details={"member": member})
    return value


def _question(body: Mapping[str, Any]) -> Expectation:
    predicate = body.get("predicate")
    if predicate is not None:
        read_value(predicate["value"])
    age, challenge = _integer(body, "maxAge"), body.get("challenge")
    return Expectation(
        predicates=None if predicate is None else (predicate,),
        nonce=None if challenge is None else nonce_of(challenge),
        audience=body.get("domain"),
        issuer=body.get("issuerDid"),
        schema_id=body.get("schemaId"),
        max_age=None if age is None else timedelta(seconds=age),
    )


def _judged(verdict: ProofVerification, anchor: Anchor | None) -> Answer:
    """``VerificationResult`` of the document."""
    presented = verdict.presented
    predicates: list[JsonValue] = [] if presented is None else [each.json for each in presented.predicates]
    body = {
        "verified": verdict.verified,
        "checks": [{"check": check.name, "ok": check.ok, "code": check.code} for check in verdict.checks],
        "errors": list(verdict.errors),
        "warnings": list(verdict.warnings),
        "unchecked": list(verdict.unchecked),
        "proofId": None if presented is None else presented.context.proof_id,
        "predicate": predicates[0] if len(predicates) == 1 else None,
        "predicates": predicates,
        "issuerDid": None if presented is None else issuer_of(presented),
        "schemaId": None if presented is None else presented.schema.id,
        "anchor": anchors.anchor(anchor),
    }
    return Answer(200, body, headers=[NO_STORE])


def _record(stored: StoredProof) -> Answer:
    """``ProofRecord`` of the document."""
    revocation = stored.revocation
    body: dict[str, Any] = {
        "proofId": stored.id,
        "delegationId": stored.delegation_id,
        "holderDid": stored.holder,
        "agentDid": stored.agent,
        "credentialId": stored.credential_id,
        "issuerDid": stored.issuer,
        "schemaId": stored.schema_id,
        "predicate": dict(stored.predicate),
        "proof": zk_proof(stored.proof),
        "challenge": stored.challenge,
        "domain": stored.domain,
        "createdAt": printed(stored.created_at),
        "expiresAt": printed(stored.expires_at),
        "revokedAt": None if revocation is None else printed(revocation.at),
        "revokedBy": None if revocation is None else revocation.by,
        "revocationReason": None if revocation is None else revocation.reason,
        "anchor": anchors.anchor(stored.anchor),
        "anchorDetails": anchors.details(stored),
    }
    return Answer(200, body, headers=[NO_STORE])
