"""Proving: one BBS proof of the draft, further ones under its challenge, and the argument (PROTOCOL-2.md §7.3)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from identity_bound_credentials.domain.normal_form import Slot
from identity_bound_credentials.domain.presentation import (
    PresentationContext,
    PresentationStatement,
    PresentationWitness,
    check_expiry,
)
from msgspec import Struct

from identity_bbs import core
from identity_bbs.bls12381 import G1, Curve
from identity_bbs.bls12381.backend import SCALAR_OCTETS
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_bbs.bls12381.keys import InvalidBlsKey
from identity_bbs.consent import check_consent, pseudonym_message
from identity_bbs.encoding import (
    calculate_challenge,
    calculate_domain,
    mixed_messages_to_scalars,
    octets_to_public_key,
    octets_to_signature,
    proof_to_octets,
)
from identity_bbs.frames import frame, number, scalar
from identity_bbs.openings import HOLDER_SLOT, PSEUDONYM_DST
from identity_bbs.suite import (
    BbsPublicKey,
    BbsSignatureInvalid,
    Ciphersuite,
    InitResult,
    RandomScalars,
    Signature,
    ciphersuite,
)
from identity_codec.values import Hidden
from identity_core.cache import BoundedCache
from identity_core.domain.credentials.attributes import ValueRefused
from identity_core.domain.credentials.schema import Message
from identity_core.domain.proofs.proof import WitnessInvalid
from identity_prover_bbs.set_argument import SetProver
from identity_prover_bbs.suite2 import labels
from identity_prover_bbs.suite2.argument import VectorArgumentProver
from identity_prover_bbs.suite2.envelope import PresentationEnvelope
from identity_prover_bbs.suite2.generators import PresentationGenerators, presentation_generators
from identity_prover_bbs.suite2.relation import (
    PresentationRelation,
    SignedPart,
    context_octets,
    first_challenge,
    presentation_header,
)
from identity_prover_bbs.suite2.satisfied import check_satisfied

_REMEMBERED: Final = 1024
_HIDDEN_SCALARS: Final = 5
"""r1, r2, e~, r1~, r3~ stand before the masks of the messages in the draft's list of random scalars."""


class ProvenPart(Hidden, Struct, frozen=True):
    """A checked signature with its messages and B, whose base point is not P1 where the holder consents: never printed, never kept."""

    signed: SignedPart
    key: BbsPublicKey
    signature: Signature
    messages: tuple[int, ...]
    b: G1


class PresentationProver:
    """Makes presentations on one curve, with one source of randomness (``os.urandom`` outside tests)."""

    def __init__(self, curve: Curve, random: Callable[[int], bytes]) -> None:
        self._suite: Final[Ciphersuite] = ciphersuite(curve)
        self._generators: Final[PresentationGenerators] = presentation_generators(curve)
        self._random = random
        self._checked: BoundedCache[bytes, None] = BoundedCache(_REMEMBERED)

    def prove(self, statement: PresentationStatement, witness: PresentationWitness, bound: PresentationContext) -> str:
        """Return the text of the envelope; an agent whose key the context names has to sign it yet (``sign_as_agent``).

        Raises ``PredicateUnsupported``, ``PredicateNotSatisfied`` (also for a credential that is not valid on the day or is revoked) and
        ``WitnessInvalid``.
        """
        check_expiry(statement.day, bound.context)
        relation = PresentationRelation.from_statement(statement)
        known = self._read_messages(relation, witness, bound)
        selected = check_satisfied(relation, known)
        points = self._agreed(statement, witness, bound)
        parts = self._parts(relation, witness, known, points)
        return self._envelope(relation, parts, witness, bound, selected).encode()

    def _envelope(
        self,
        relation: PresentationRelation,
        parts: Sequence[ProvenPart],
        witness: PresentationWitness,
        bound: PresentationContext,
        selected: Sequence[int],
    ) -> PresentationEnvelope:
        statement, context = relation.statement, context_octets(bound)
        consent = None if witness.consent is None else witness.consent.encoded
        hedged = self._hedged(relation, parts, context, witness)
        masks, randoms = _masks(relation, hedged)
        inits = [self._init(part, random) for part, random in zip(parts, randoms, strict=True)]
        messages = {Slot(n, slot): value for n, part in enumerate(parts) for slot, value in enumerate(part.messages)}
        arguments = self._arguments(relation, messages, masks, selected, hedged)
        pseudonym = self._pseudonym(statement, messages, masks)
        commitments = [data for argument in arguments for data in argument.first()]
        firsts = [relation.init_octets(n, init.points_octets, init.domain) for n, init in enumerate(inits)]
        first = relation.first_message(context, firsts, consent, pseudonym, commitments)
        y = first_challenge(first)
        coefficients = [data for argument in arguments for data in argument.second(y)]
        ph = presentation_header(relation.encoded, context, first, coefficients)
        c = calculate_challenge(inits[0], relation.parts[0].disclosed, ph)
        proofs = [_proof(relation, n, inits[n], part, randoms[n], c) for n, part in enumerate(parts)]
        data = [argument.proof(c) for argument in arguments]
        count, has_vector = len(statement.question.credentials), relation.layout.byte_count > 0
        return PresentationEnvelope(
            statement.question,
            statement.day,
            tuple(part.epoch for part in statement.status),
            bound,
            relation.shown,
            tuple(proofs[:count]),
            tuple(proofs[count:]),
            data[0] if has_vector else b"",
            tuple(data[has_vector:]),
            pseudonym[0] if pseudonym else None,
            consent,
        )

    def _read_messages(
        self, relation: PresentationRelation, witness: PresentationWitness, bound: PresentationContext
    ) -> list[tuple[Message, ...]]:
        """Return the messages of each part, holder's slots first; with a consent 1 and ρ stand there. Raises ``WitnessInvalid``."""
        question = relation.statement.question
        count = len(question.credentials)
        if len(witness.credentials) != count or len(witness.gaps) != len(relation.statement.status):
            raise WitnessInvalid()
        if not question.consented == (witness.consent is not None) == (bound.consent is not None):
            raise WitnessInvalid()
        openings = [credential.opening for credential in witness.credentials]
        if witness.consent is not None:
            if len(witness.consent.rhos) != count:
                raise WitnessInvalid()
            openings = [(1, rho) for rho in witness.consent.rhos]
        known: list[tuple[Message, ...]] = []
        for asked, credential, opening in zip(question.credentials, witness.credentials, openings, strict=True):
            if opening is None:
                raise WitnessInvalid()
            try:
                messages = asked.header.known_messages(credential.attributes, credential.particulars)
            except ValueRefused:
                raise WitnessInvalid() from None
            known.append((*opening, *messages))
        return [*known, *((gap.low, gap.high) for gap in witness.gaps)]

    def _agreed(
        self, statement: PresentationStatement, witness: PresentationWitness, bound: PresentationContext
    ) -> tuple[G1, ...]:
        """K' of each credential where the holder consents, to this question for this verifier: with a consent to something else every
        verifier would refuse the proof. Raises ``WitnessInvalid``."""
        question = statement.question
        if witness.consent is None or bound.consent is None:
            return ()
        try:
            message = bound.consent.message(question, bound.context, bound.agent_key)
            count = len(question.credentials)
            return check_consent(self._suite, witness.consent.encoded, count, message, question.pseudonym).points
        except ValueError:
            raise WitnessInvalid() from None

    def _parts(
        self,
        relation: PresentationRelation,
        witness: PresentationWitness,
        known: Sequence[tuple[Message, ...]],
        points: Sequence[G1],
    ) -> list[ProvenPart]:
        """``points`` are K' of the credentials where the holder consents."""
        suite, curve = self._suite, self._suite.curve
        bases: list[G1 | None] = [None] * len(known)
        bases[: len(points)] = [consented_base(suite, point) for point in points]
        signatures = [one.signature for one in witness.credentials] + [gap.signature for gap in witness.gaps]
        try:
            parts = []
            for signed, data, messages, base in zip(relation.parts, signatures, known, bases, strict=True):
                key = octets_to_public_key(suite, signed.key)
                signature = octets_to_signature(suite, data)
                scalars = tuple(mixed_messages_to_scalars(messages))
                b = suite.commitment(calculate_domain(suite, key, signed.count, signed.header), scalars, base)
                digest = sha256(frame(labels.WITNESS, [key.encoded, data, curve.g1_to_octets(b)])).digest()
                if digest not in self._checked:
                    core.verify_point(suite, key, signature, b)
                    self._checked.store(digest, None)
                parts.append(ProvenPart(signed, key, signature, scalars, b))
        except (ValueError, InvalidBlsKey, BbsSignatureInvalid):
            raise WitnessInvalid() from None
        return parts

    def _hedged(
        self, relation: PresentationRelation, parts: Sequence[ProvenPart], context: bytes, witness: PresentationWitness
    ) -> HedgedScalars:
        secrets = [scalar(value) for part in parts for value in (part.signature.e, *part.messages)]
        consent = b"" if witness.consent is None else witness.consent.encoded
        hashed = sha256(frame(labels.WITNESS, [number(len(parts)), *secrets, consent, relation.encoded, context]))
        return HedgedScalars(labels.MASKS, self._random, hashed.digest())

    def _init(self, part: ProvenPart, random: RandomScalars) -> InitResult:
        signed = part.signed
        shown = sorted(signed.disclosed)
        return core.proof_init(
            self._suite, part.key, part.signature, signed.header, part.messages, shown, random, part.b
        )

    def _arguments(
        self,
        relation: PresentationRelation,
        messages: Mapping[Slot, int],
        masks: Mapping[Slot, int],
        selected: Sequence[int],
        hedged: HedgedScalars,
    ) -> list[VectorArgumentProver | SetProver]:
        arguments: list[VectorArgumentProver | SetProver] = []
        if relation.layout.byte_count:
            vector = VectorArgumentProver(self._generators, relation.layout, messages, masks, selected, hedged)
            arguments.append(vector)
        for slot, layout in relation.sets:
            arguments.append(SetProver(self._generators, layout, messages[slot], masks[slot], hedged))
        return arguments

    def _pseudonym(
        self, statement: PresentationStatement, messages: Mapping[Slot, int], masks: Mapping[Slot, int]
    ) -> list[bytes]:
        """P and U in a plain proof; in a consented one they are the consent's. Equation (5.5)."""
        question, curve = statement.question, self._suite.curve
        if question.pseudonym is None or question.consented:
            return []
        base = curve.hash_to_g1(pseudonym_message(question.pseudonym), PSEUDONYM_DST)
        holder = Slot(0, HOLDER_SLOT)
        return [curve.g1_to_octets(curve.g1_mul(base, value)) for value in (messages[holder], masks[holder])]


def consented_base(suite: Ciphersuite, point: G1) -> G1:
    """P1 + K' - H_0: the base point under which slot 0 is 1 and slot 1 is ρ. Equation (5.6)."""
    curve = suite.curve
    return curve.g1_add(suite.combine(1, 0, (), ()), curve.g1_add(point, curve.g1_neg(suite.generator(HOLDER_SLOT))))


def _masks(relation: PresentationRelation, hedged: HedgedScalars) -> tuple[dict[Slot, int], list[RandomScalars]]:
    """Return one mask for each class of hidden messages, 1 for an equality; and the draft's random scalars of each part."""
    masks: dict[Slot, int] = {}
    randoms: list[RandomScalars] = []
    public = {relation.owner.get(slot, slot) for slot in relation.equal}
    for number_, part in enumerate(relation.parts):
        slots = [Slot(number_, slot) for slot in part.hidden]
        r1, r2, e_tilde, r1_tilde, r3_tilde = hedged.scalars(_HIDDEN_SCALARS)
        for slot, mask in zip(slots, hedged.scalars(len(slots)), strict=True):
            owner = relation.owner.get(slot, slot)
            masks[slot] = masks.get(owner, 1 if owner in public else mask)
        randoms.append(RandomScalars(r1, r2, e_tilde, r1_tilde, r3_tilde, tuple(masks[slot] for slot in slots)))
    return masks, randoms


def _proof(
    relation: PresentationRelation, number_: int, init: InitResult, part: ProvenPart, random: RandomScalars, c: int
) -> bytes:
    """Return the draft's proof for the lead; of a further part without c and the responses that an earlier one stands for."""
    hidden = [part.messages[slot] for slot in part.signed.hidden]
    proof = core.proof_finalize(init, c, part.signature.e, random, hidden)
    if number_ == 0:
        return proof_to_octets(proof)
    responses = dict(zip(part.signed.hidden, proof.m_hats, strict=True))
    own = [responses[slot.slot] for slot in relation.owned(number_)]
    scalars = (proof.e_hat, proof.r1_hat, proof.r3_hat, *own)
    return proof.points_octets + b"".join(value.to_bytes(SCALAR_OCTETS, "big") for value in scalars)
