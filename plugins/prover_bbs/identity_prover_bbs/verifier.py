"""Verifying, against the verifier's own request (PROTOCOL.md §6.4).

Cheap checks first: envelope, comparison with the request, lengths; then the curve; the pairing, dearest, last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Final

from identity_bbs import core
from identity_bbs.batch import Claim, wrong_groups
from identity_bbs.bls12381 import ORDER, Curve
from identity_bbs.bls12381.keys import InvalidBlsKey
from identity_bbs.encoding import octets_to_proof, octets_to_public_key
from identity_bbs.suite import BbsProofInvalid as BbsProofInvalid
from identity_bbs.suite import Ciphersuite, ciphersuite
from identity_core.domain.proofs.proof import Context, PresentedProof, Statement, ZkProof, public_signals
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_prover_bbs import labels
from identity_prover_bbs.envelope import Envelope
from identity_prover_bbs.envelope_text import refusal
from identity_prover_bbs.generators import Generators, generators
from identity_prover_bbs.prover import predicate_type
from identity_prover_bbs.range_argument import RangeVerifier
from identity_prover_bbs.relation import Relation
from identity_prover_bbs.set_argument import SetVerifier


class Verifying:
    """Checks proofs on one curve. Needs no randomness and keeps nothing."""

    def __init__(self, curve: Curve) -> None:
        self._suite: Final[Ciphersuite] = ciphersuite(curve)
        self._generators: Final[Generators] = generators(curve)

    def verify(self, statement: Statement, proof: ZkProof, context: Context, now: datetime) -> None:
        ((key, bbs_proof),) = self._but_pairing(statement, proof, context, now)
        try:
            core.check_pairing(self._suite, key, bbs_proof)
        except BbsProofInvalid as refused:
            raise refusal(str(refused)) from None

    def verify_all(
        self, asked: Sequence[tuple[Statement, ZkProof, Context, datetime]], random: Callable[[int], bytes]
    ) -> list[ProofInvalid | None]:
        """Return the error of ``verify`` for each, with the pairings of all in one product."""
        return verify_together(self._suite, [partial(self._but_pairing, *one) for one in asked], random)

    def _but_pairing(self, statement: Statement, proof: ZkProof, context: Context, now: datetime) -> list[Claim]:
        """Check everything but the pairing of the key and proof, and return them."""
        try:
            relation = Relation.from_statement(statement)
        except PredicateUnsupported as unsupported:
            raise ProofInvalid(details=unsupported.details) from None
        asked = PresentedProof(statement.issuer.verification_method, statement.schema, statement.predicates, context)
        envelope = Envelope.decode_expected(proof.proof, asked, relation.shown)
        _check_signals(statement, proof, context)
        context.check_time(now)
        if tuple(map(len, envelope.predicate_proofs)) != relation.argument_octets:
            raise refusal("the sub-proofs are not those of the statement")
        try:
            return [self._check(relation, envelope, context)]
        except (BbsProofInvalid, InvalidBlsKey) as refused:
            raise refusal(str(refused)) from None

    def _check(self, relation: Relation, envelope: Envelope, context: Context) -> Claim:
        statement = relation.statement
        key = octets_to_public_key(self._suite, statement.issuer.public_key)
        proof = octets_to_proof(self._suite, envelope.bbs_proof)
        if len(proof.m_hats) != len(relation.hidden):
            raise refusal("the BBS proof hides another number of messages")
        c = proof.challenge
        m_hats = dict(zip(relation.hidden, proof.m_hats, strict=True))
        for slot, scalar in relation.equal.items():
            # Equation (3.2): only the message b with the mask 1 answers two challenges so.
            if m_hats[slot] != (scalar * c + 1) % ORDER:
                raise refusal("the proof does not match")
        init = core.proof_verify_init(self._suite, key, proof, relation.header, relation.disclosed)
        arguments = self._arguments(relation, envelope.predicate_proofs, c, m_hats)
        commitments = [data for argument in arguments for data in argument.first()]
        transcript = relation.first_challenge(context, init.points_octets, init.domain, commitments)
        coefficients = [data for argument in arguments for data in argument.second(transcript.y)]
        core.check_challenge(init, proof, relation.disclosed, transcript.presentation_header(coefficients))
        return key, proof

    def _arguments(
        self, relation: Relation, proofs: Sequence[bytes], c: int, m_hats: Mapping[int, int]
    ) -> list[RangeVerifier | SetVerifier]:
        remaining = iter(proofs)
        arguments: list[RangeVerifier | SetVerifier] = []
        slots = [goal.slot for goal in relation.ranges.goals]
        if slots:
            responses = [m_hats[slot] for slot in slots]
            arguments.append(RangeVerifier(self._generators, relation.ranges, next(remaining), c, responses))
        for layout in relation.sets:
            arguments.append(SetVerifier(self._generators, layout, next(remaining), c, m_hats[layout.slot]))
        return arguments


def _check_signals(statement: Statement, proof: ZkProof, context: Context) -> None:
    signals = public_signals(labels.SUITE, statement, context)
    if (proof.public_signals, proof.predicate_type, proof.proof_id) != (
        signals,
        predicate_type(statement),
        context.proof_id,
    ):
        raise refusal("the public signals are not those of the proof")


def verify_together(
    suite: Ciphersuite, checks: Sequence[Callable[[], list[Claim]]], random: Callable[[int], bytes]
) -> list[ProofInvalid | None]:
    """Return the refusal of each check, with the pairings of all in one product; None for a valid proof.

    A check does everything but the pairings of the claims that it returns.
    """
    answers: list[ProofInvalid | None] = [None] * len(checks)
    claims: dict[int, list[Claim]] = {}
    for number, check in enumerate(checks):
        try:
            claims[number] = check()
        except ProofInvalid as refused:
            answers[number] = refused
    numbers = list(claims)
    for place in wrong_groups(suite, [*claims.values()], random):
        answers[numbers[place]] = refusal("the proof does not match")
    return answers
