"""Verifying, against the verifier's own question (PROTOCOL-2.md §7.4).

Cheap checks first: envelope, comparison with the question, times, lengths; then the consent and the curve; the pairings, dearest, last.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from hashlib import sha256
from os import urandom
from typing import Final

from identity_bound_credentials.domain.normal_form import Slot
from identity_bound_credentials.domain.presentation import Acceptance, PresentationContext, PresentationStatement
from identity_bound_credentials.domain.question import Question
from msgspec import Struct

from identity_bbs import core
from identity_bbs.batch import Claim
from identity_bbs.bls12381 import G1, ORDER, Curve, InvalidPoint
from identity_bbs.bls12381.backend import G1_OCTETS, SCALAR_OCTETS
from identity_bbs.bls12381.keys import InvalidBlsKey
from identity_bbs.consent import ConsentInvalid, check_consent, pseudonym_message
from identity_bbs.encoding import octets_to_proof, octets_to_public_key
from identity_bbs.frames import frame, number, optional
from identity_bbs.openings import HOLDER_SLOT, PSEUDONYM_DST
from identity_bbs.suite import BbsProofInvalid, BbsPublicKey, Ciphersuite, InitResult, Proof, ciphersuite
from identity_core.errors import PredicateUnsupported, ProofInvalid
from identity_prover_bbs.envelope_text import refusal
from identity_prover_bbs.set_argument import SetVerifier
from identity_prover_bbs.suite2 import labels
from identity_prover_bbs.suite2.argument import VectorArgumentVerifier
from identity_prover_bbs.suite2.envelope import PresentationEnvelope
from identity_prover_bbs.suite2.generators import PresentationGenerators, presentation_generators
from identity_prover_bbs.suite2.prover import consented_base
from identity_prover_bbs.suite2.received import (
    OWN_SCALARS,
    POINTS_OCTETS,
    ReceivedPresentation,
    VerifiedPresentation,
    check_agent,
    check_envelope,
    own_statement,
)
from identity_prover_bbs.suite2.relation import (
    PresentationRelation,
    context_octets,
    first_challenge,
    presentation_header,
)
from identity_prover_bbs.verifier import verify_together

_WEIGHT_OCTETS: Final = 16


class _Received(Struct, frozen=True):
    """A part as it came, with the response of each hidden slot."""

    key: BbsPublicKey
    proof: Proof
    init: InitResult


class PresentationVerifier:
    """Checks presentations on one curve. Needs no randomness and keeps nothing."""

    def __init__(self, curve: Curve) -> None:
        self._suite: Final[Ciphersuite] = ciphersuite(curve)
        self._generators: Final[PresentationGenerators] = presentation_generators(curve)

    def accept(
        self,
        text: str,
        question: Question,
        keys: Mapping[str, bytes],
        *,
        audience: str,
        nonce: bytes,
        acceptance: Acceptance,
        agent_key: bytes | None = None,
        capability: bytes | None = None,
    ) -> VerifiedPresentation:
        """Verify a proof of exactly this question for this audience and nonce. ``keys`` has the 96 bytes of each verification method,
        resolved by the verifier, of credentials and of status lists. Raises ``ProofInvalid``."""
        received = ReceivedPresentation(text, question, keys, audience, nonce, acceptance, agent_key, capability)
        return self._whole(*own_statement(received), acceptance)

    def accept_all(
        self, received: Sequence[ReceivedPresentation], random: Callable[[int], bytes] = urandom
    ) -> list[VerifiedPresentation | ProofInvalid]:
        """Return for each the result or error of ``accept``, with the pairings of all in one product (``identity_bbs.batch``)."""
        verified: dict[int, VerifiedPresentation] = {}

        def claims(number_: int) -> list[Claim]:
            own = own_statement(received[number_])
            verified[number_] = VerifiedPresentation.from_envelope(*own)
            return self._claims(*own, received[number_].acceptance)

        errors = verify_together(self._suite, [partial(claims, place) for place in range(len(received))], random)
        return [error or verified[place] for place, error in enumerate(errors)]

    def verify(
        self, statement: PresentationStatement, bound: PresentationContext, text: str, acceptance: Acceptance
    ) -> VerifiedPresentation:
        """Verify a proof of exactly this statement in this context, which are the verifier's own. Raises ``ProofInvalid``."""
        return self._whole(statement, bound, PresentationEnvelope.decode(text), acceptance)

    def verify_all(
        self,
        asked: Sequence[tuple[PresentationStatement, str, PresentationContext, Acceptance]],
        random: Callable[[int], bytes],
    ) -> list[ProofInvalid | None]:
        """Return the error of ``verify`` for each, with the pairings of all in one product (``identity_bbs.batch``)."""

        def claims(
            statement: PresentationStatement, text: str, bound: PresentationContext, acceptance: Acceptance
        ) -> list[Claim]:
            return self._claims(statement, bound, PresentationEnvelope.decode(text), acceptance)

        return verify_together(self._suite, [partial(claims, *one) for one in asked], random)

    def _claims(
        self,
        statement: PresentationStatement,
        bound: PresentationContext,
        envelope: PresentationEnvelope,
        acceptance: Acceptance,
    ) -> list[Claim]:
        parts, _ = self._but_pairings(statement, bound, envelope, acceptance)
        return [(part.key, part.proof) for part in parts]

    def _whole(
        self,
        statement: PresentationStatement,
        bound: PresentationContext,
        envelope: PresentationEnvelope,
        acceptance: Acceptance,
    ) -> VerifiedPresentation:
        parts, ph = self._but_pairings(statement, bound, envelope, acceptance)
        try:
            self._check_pairings(envelope, parts, ph)
        except BbsProofInvalid as refused:
            raise refusal(str(refused)) from None
        return VerifiedPresentation.from_envelope(statement, bound, envelope)

    def _but_pairings(
        self,
        statement: PresentationStatement,
        bound: PresentationContext,
        envelope: PresentationEnvelope,
        acceptance: Acceptance,
    ) -> tuple[list[_Received], bytes]:
        """Check everything but the pairings of the parts, and return the parts and ph."""
        try:
            relation = PresentationRelation.from_statement(statement)
        except PredicateUnsupported as unsupported:
            raise ProofInvalid(details=unsupported.details) from None
        check_envelope(relation, bound, envelope)
        acceptance.check(statement, bound)
        check_agent(envelope)
        try:
            return self._check(relation, envelope)
        except (BbsProofInvalid, InvalidBlsKey, InvalidPoint, ConsentInvalid) as refused:
            raise refusal(str(refused)) from None

    def _check(self, relation: PresentationRelation, envelope: PresentationEnvelope) -> tuple[list[_Received], bytes]:
        """Check everything on the curve but the pairings, and return the parts and ph."""
        bound = context_octets(envelope.bound)
        bases = self._bases(relation, envelope)
        lead = octets_to_proof(self._suite, envelope.credential_proofs[0])
        c = lead.challenge
        responses = _responses(relation, envelope, lead)
        parts = self._parts(relation, envelope, lead, responses, bases)
        arguments = self._arguments(relation, envelope, c, responses)
        commitments = [data for argument in arguments for data in argument.first()]
        shown = self._pseudonym(relation, envelope, c, responses)
        firsts = [relation.init_octets(n, part.init.points_octets, part.init.domain) for n, part in enumerate(parts)]
        first = relation.first_message(bound, firsts, envelope.consent, shown, commitments)
        y = first_challenge(first)
        coefficients = [data for argument in arguments for data in argument.second(y)]
        ph = presentation_header(relation.encoded, bound, first, coefficients)
        core.check_challenge(parts[0].init, lead, relation.parts[0].disclosed, ph)
        return parts, ph

    def _bases(self, relation: PresentationRelation, envelope: PresentationEnvelope) -> list[G1 | None]:
        """Return the base point of each part of which the holder consents to; None for each other part."""
        bases: list[G1 | None] = [None] * len(relation.parts)
        question, terms = relation.statement.question, envelope.bound.consent
        if envelope.consent is None or terms is None:
            return bases
        try:
            message = terms.message(question, envelope.bound.context, envelope.bound.agent_key)
        except ValueError as fault:
            raise refusal(str(fault)) from None
        count = len(question.credentials)
        checked = check_consent(self._suite, envelope.consent, count, message, question.pseudonym)
        bases[:count] = [consented_base(self._suite, point) for point in checked.points]
        return bases

    def _parts(
        self,
        relation: PresentationRelation,
        envelope: PresentationEnvelope,
        lead: Proof,
        responses: Mapping[Slot, int],
        bases: Sequence[G1 | None],
    ) -> list[_Received]:
        received = [lead, *map(self._satellite, (*envelope.credential_proofs, *envelope.gap_proofs)[1:])]
        parts = []
        for number_, (signed, proof, base) in enumerate(zip(relation.parts, received, bases, strict=True)):
            m_hats = tuple(responses[Slot(number_, slot)] for slot in signed.hidden)
            whole = proof._replace(m_hats=m_hats, challenge=lead.challenge)
            key = octets_to_public_key(self._suite, signed.key)
            init = core.proof_verify_init(self._suite, key, whole, signed.header, signed.disclosed, base)
            parts.append(_Received(key, whole, init))
        return parts

    def _satellite(self, data: bytes) -> Proof:
        """Return a further part: its points and first three responses; the messages' come with all others. Raises ``InvalidPoint``."""
        curve = self._suite.curve
        starts = range(0, POINTS_OCTETS, G1_OCTETS)
        a_bar, b_bar, d = (curve.octets_to_g1(data[start : start + G1_OCTETS]) for start in starts)
        e_hat, r1_hat, r3_hat = _scalars(data[POINTS_OCTETS : POINTS_OCTETS + OWN_SCALARS * SCALAR_OCTETS])
        return Proof(a_bar, b_bar, d, e_hat, r1_hat, r3_hat, (), 0, data[:POINTS_OCTETS])

    def _arguments(
        self, relation: PresentationRelation, envelope: PresentationEnvelope, c: int, responses: Mapping[Slot, int]
    ) -> list[VectorArgumentVerifier | SetVerifier]:
        arguments: list[VectorArgumentVerifier | SetVerifier] = []
        if relation.layout.byte_count:
            vector = VectorArgumentVerifier(self._generators, relation.layout, envelope.argument, c, responses)
            arguments.append(vector)
        for (slot, layout), data in zip(relation.sets, envelope.sets, strict=True):
            arguments.append(SetVerifier(self._generators, layout, data, c, responses[slot]))
        return arguments

    def _pseudonym(
        self, relation: PresentationRelation, envelope: PresentationEnvelope, c: int, responses: Mapping[Slot, int]
    ) -> list[bytes]:
        """P as received and U = s^·OP - c·P of a plain proof. Equation (5.5)."""
        question, curve = relation.statement.question, self._suite.curve
        if question.pseudonym is None or question.consented or envelope.pseudonym is None:
            return []
        base = curve.hash_to_g1(pseudonym_message(question.pseudonym), PSEUDONYM_DST)
        shown = curve.octets_to_g1(envelope.pseudonym)
        masked = curve.g1_msm([base, shown], [responses[Slot(0, HOLDER_SLOT)], -c])
        if curve.g1_is_identity(masked):
            raise refusal("the proof does not match")
        return [envelope.pseudonym, curve.g1_to_octets(masked)]

    def _check_pairings(self, envelope: PresentationEnvelope, parts: Sequence[_Received], ph: bytes) -> None:
        """Check one product, with weights hashed from all that was received; after the check of c, which fixes the keys. Equation
        (7.4)."""
        fields = [ph, *envelope.credential_proofs, *envelope.gap_proofs, envelope.argument, *envelope.sets]
        fields += [optional(envelope.pseudonym), optional(envelope.consent)]
        seed = sha256(frame(labels.WEIGHTS, fields)).digest()
        weights = [1, *(_weight(seed, number_) for number_ in range(1, len(parts)))]
        weighted = [(part.key, part.proof, weight) for part, weight in zip(parts, weights, strict=True)]
        core.check_pairings(self._suite, weighted)


def _weight(seed: bytes, number_: int) -> int:
    return int.from_bytes(sha256(seed + number(number_)).digest()[:_WEIGHT_OCTETS], "big")


def _responses(relation: PresentationRelation, envelope: PresentationEnvelope, lead: Proof) -> dict[Slot, int]:
    """Return the response of every hidden slot: of each class one, in the first slot of it. Raises ``ProofInvalid``."""
    if len(lead.m_hats) != len(relation.owned(0)):
        raise refusal("the BBS proof hides another number of messages")
    responses = dict(zip(relation.owned(0), lead.m_hats, strict=True))
    for number_, data in enumerate((*envelope.credential_proofs, *envelope.gap_proofs)[1:], 1):
        own = _scalars(data[POINTS_OCTETS + OWN_SCALARS * SCALAR_OCTETS :])
        responses |= dict(zip(relation.owned(number_), own, strict=True))
    for slot, owner in relation.owner.items():
        # The lead sends all of its responses, as the draft has them; equal messages then have equal ones.
        if responses.setdefault(slot, responses[owner]) != responses[owner]:
            raise refusal("the proof does not match")
    for slot, value in relation.equal.items():
        if responses[slot] != (value * lead.challenge + 1) % ORDER:
            raise refusal("the proof does not match")
    return responses


def _scalars(data: bytes) -> list[int]:
    found = [int.from_bytes(data[at : at + SCALAR_OCTETS], "big") for at in range(0, len(data), SCALAR_OCTETS)]
    if not all(value < ORDER for value in found):
        raise refusal("a scalar is not below the group order")
    return found
