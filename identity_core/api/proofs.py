"""The handlers of the tag ``proofs``: made for an agent, verified, shown, revoked. Nobody may keep a copy of an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from identity_core.api import anchor_render, did_parse, proof_parse
from identity_core.api.auth import NO_STORE
from identity_core.api.idempotency import REPLAYED
from identity_core.api.request import Answer, Request
from identity_core.domain.anchor import Anchor
from identity_core.domain.delegated_proof import MAX_SYNC_WAIT_MS, DelegatedProof, read_value
from identity_core.domain.proof import ZkProof
from identity_core.domain.times import printed
from identity_core.domain.verification import ProofQuestion, ProofVerification, issuer_of
from identity_core.errors import InvalidRequest, JsonValue
from identity_core.ports.invocations import RefusedInvocation
from identity_core.ports.proofs import StoredProof
from identity_core.use_cases.dids.reader import DidReader
from identity_core.use_cases.proofs.generate_delegated import GenerateDelegatedProof
from identity_core.use_cases.proofs.get import SCOPE, GetProof
from identity_core.use_cases.proofs.revoke import RevokeProof
from identity_core.use_cases.proofs.verify import ReceivedProof
from identity_core.use_cases.proofs.verify_received import VerifyProof
from identity_core.use_cases.proofs.verify_stored import VerifyStoredProof


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
        wish = proof_parse.proof_request(request.body, self.reader.parse)
        answered = await self.generate(wish, did_parse.occasion(request))
        if answered.is_replay:
            request.answer_headers = (*request.answer_headers, REPLAYED)
        if isinstance(answered.outcome, RefusedInvocation):
            raise answered.outcome.error()
        return Answer(201, result(answered.outcome), headers=[NO_STORE])

    async def verify_proof(self, request: Request) -> Answer:
        if request.caller is not None:
            request.caller.require_scope(SCOPE)
        occasion = None if request.caller is None else did_parse.occasion(request)
        verdict = await self.received(_received(request.body), _question(request.body), occasion)
        return _judged(verdict, None)

    async def verify_stored_proof(self, request: Request) -> Answer:
        request.authenticated.require_scope(SCOPE)
        question = _question(request.body)
        verdict, anchor = await self.stored(request.path["proofId"], question, did_parse.occasion(request))
        return _judged(verdict, anchor)

    async def get_proof(self, request: Request) -> Answer:
        return _record(await self.get(request.path["proofId"], did_parse.occasion(request)))

    async def revoke_proof(self, request: Request) -> Answer:
        body = request.body
        occasion = did_parse.occasion(request)
        return _record(await self.revoke(request.path["proofId"], body.get("reason"), _wait_ms(body), occasion))


def result(made: DelegatedProof) -> dict[str, Any]:
    """``DelegatedProofResult`` of the document."""
    return {
        "proofId": made.proof.proof_id,
        "delegationId": made.delegation_id,
        "proof": zk_proof(made.proof),
        "anchor": anchor_render.anchor(made.anchor),
    }


def zk_proof(proof: ZkProof) -> dict[str, Any]:
    """``ZKProof`` of the document."""
    return {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }


def _received(body: Mapping[str, Any]) -> ReceivedProof:
    signals = body.get("publicSignals")
    texts = None if signals is None else tuple(signals)
    return ReceivedProof(body["proof"], texts, body.get("predicateType"), body.get("proofId"))


def _wait_ms(body: Mapping[str, Any]) -> int:
    return min(_integer(body, "syncWaitMs") or 0, MAX_SYNC_WAIT_MS)


def _integer(body: Mapping[str, Any], member: str) -> int | None:
    """The member, where it is there. JSON Schema calls 1.0 an integer; it is refused."""
    value: int | float | None = body.get(member)
    if isinstance(value, float):
        raise InvalidRequest(f"{member} is an integer.", details={"member": member})
    return value


def _question(body: Mapping[str, Any]) -> ProofQuestion:
    predicate = body.get("predicate")
    if predicate is not None:
        read_value(predicate["value"])
    age = _integer(body, "maxAge")
    return ProofQuestion(
        predicate,
        body.get("challenge"),
        body.get("domain"),
        body.get("issuerDid"),
        body.get("schemaId"),
        None if age is None else timedelta(seconds=age),
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
        "anchor": anchor_render.anchor(anchor),
    }
    return Answer(200, body, headers=[NO_STORE])


def _record(stored: StoredProof) -> Answer:
    """``ProofRecord`` of the document."""
    revocation = stored.revocation
    body: dict[str, JsonValue] = {
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
        "anchor": anchor_render.anchor(stored.anchor),
        "anchorDetails": anchor_render.details(stored),
    }
    return Answer(200, body, headers=[NO_STORE])
