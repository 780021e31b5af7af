"""The handlers of the tag ``proofs``, and the form of proofs in answers. Answers must not be cached."""

from __future__ import annotations

from msgspec import Struct

from identity_core import wire
from identity_core.api.idempotency import REPLAYED
from identity_core.api.request import NO_STORE, Answer, Request
from identity_core.domain.proofs.proof import ZkProof
from identity_core.domain.proofs.stored import Anchor, DelegatedProof
from identity_core.ports.proofs import RefusedInvocation
from identity_core.use_cases.proofs.generate import Answered, CreateDelegatedPresentation, GenerateDelegatedProof


class ProofHandlers(Struct, frozen=True):
    """Handlers of generateDelegatedProof, createDelegatedPresentation."""

    generate: GenerateDelegatedProof
    present: CreateDelegatedPresentation

    async def generate_delegated_proof(self, request: Request) -> Answer:
        return _answer_proof(request, await self.generate(request.body, request.context))

    async def create_delegated_presentation(self, request: Request) -> Answer:
        return _answer_proof(request, await self.present(request.body, request.context))


def _answer_proof(request: Request, answered: Answered) -> Answer:
    """Return the answer with the proof. Raises the error with which the request was refused."""
    if answered.is_replay:
        request.answer_headers = (*request.answer_headers, REPLAYED)
    if isinstance(answered.outcome, RefusedInvocation):
        raise answered.outcome.error()
    return Answer(201, result(answered.outcome), headers=[NO_STORE])


def result(made: DelegatedProof) -> wire.DelegatedProofResult:
    """Return the answer to the request for a proof."""
    return wire.DelegatedProofResult(
        proof_id=made.proof.proof_id,
        delegation_id=made.delegation_id,
        proof=zk_proof(made.proof),
        anchor=anchor(made.anchor),
    )


def zk_proof(proof: ZkProof) -> wire.ZKProof:
    """Return a proof in the form that is passed on."""
    return wire.ZKProof(
        proof=proof.proof,
        public_signals=proof.public_signals,
        predicate_type=proof.predicate_type,
        proof_id=proof.proof_id,
    )


def anchor(receipt: Anchor | None) -> wire.Anchor | None:
    """Return the wire form of the receipt."""
    if receipt is None:
        return None
    return wire.Anchor(
        status=receipt.status.value,
        tx_hash=receipt.tx_hash,
        block_number=receipt.block_number,
        revoked_block=receipt.revoked_block,
    )
