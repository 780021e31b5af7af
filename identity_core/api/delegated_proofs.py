"""The handler of generateDelegatedProof, of the tag ``proofs``. Nobody may keep a copy of its answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from identity_core.api import did_parse, proof_parse
from identity_core.api.anchor_render import anchor
from identity_core.api.auth import NO_STORE
from identity_core.api.idempotency import REPLAYED
from identity_core.api.request import Answer, Request
from identity_core.domain.delegated_proof import DelegatedProof
from identity_core.domain.proof import ZkProof
from identity_core.ports.invocations import RefusedInvocation
from identity_core.use_cases.dids.reader import DidReader
from identity_core.use_cases.proofs.generate_delegated import GenerateDelegatedProof


@dataclass(frozen=True, slots=True)
class DelegatedProofHandlers:
    """generateDelegatedProof."""

    reader: DidReader
    generate: GenerateDelegatedProof

    async def generate_delegated_proof(self, request: Request) -> Answer:
        wish = proof_parse.proof_request(request.body, self.reader.parse)
        answered = await self.generate(wish, did_parse.occasion(request))
        if answered.is_replay:
            request.answer_headers = (*request.answer_headers, REPLAYED)
        if isinstance(answered.outcome, RefusedInvocation):
            raise answered.outcome.error()
        return Answer(201, result(answered.outcome), headers=[NO_STORE])


def result(made: DelegatedProof) -> dict[str, Any]:
    """``DelegatedProofResult`` of the document."""
    return {
        "proofId": made.proof.proof_id,
        "delegationId": made.delegation_id,
        "proof": zk_proof(made.proof),
        "anchor": anchor(made.anchor),
    }


def zk_proof(proof: ZkProof) -> dict[str, Any]:
    """``ZKProof`` of the document."""
    return {
        "proof": proof.proof,
        "publicSignals": list(proof.public_signals),
        "predicateType": proof.predicate_type,
        "proofId": proof.proof_id,
    }
