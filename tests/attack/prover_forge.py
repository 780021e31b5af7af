"""A prover who knows the protocol and cheats: masks, digits, polynomials and commitments of his own choice.

The adversary does not run our prover. ``Forger`` takes over every step between the BBS proof and the envelope, so that a test
changes one of them and leaves the rest consistent.
"""

from __future__ import annotations

import base64
import random

from identity_kit.conformance.prover_cases import HANA, NOW, SCHEMA, BbsIssuer, context, statement
from identity_prover_bbs import BbsProver, labels, range_argument
from identity_prover_bbs.committed_vector import evaluate
from identity_prover_bbs.dice import Dice
from identity_prover_bbs.envelope import Envelope
from identity_prover_bbs.generators import generators
from identity_prover_bbs.prover import Proving, predicate_type
from identity_prover_bbs.relation import Relation

from identity_bbs import core
from identity_bbs.bls12381 import ORDER, select
from identity_bbs.encoding import (
    calculate_challenge,
    mixed_messages_to_scalars,
    octets_to_public_key,
    octets_to_signature,
    proof_to_octets,
)
from identity_bbs.suite import RandomScalars, ciphersuite
from identity_core.domain.proofs.proof import PresentedProof, ZkProof, public_signals
from identity_core.errors import ProofInvalid

ISSUER = BbsIssuer()
CURVE = select()


def fixed_random(seed: int = 0):
    """A seeded source in place of the operating system's."""
    return random.Random(seed).randbytes


class Vector:
    """A committed vector without any honesty: true coefficients of whatever polynomial the digits give."""

    def __init__(self, gens, digits, masks, dice, *, beta=None):
        self.gens, self.digits, self.masks = gens, list(digits), list(masks)
        self.alpha, self.beta = dice(), dice() if beta is None else beta
        self.dice = dice
        self.taus: list[int] = []
        self.points: list = []
        self.encode = gens.curve.g1_to_octets

    def first(self):
        self.a = self.gens.commit_masks(self.digits, self.alpha)
        self.b = self.gens.commit_masks(self.masks, self.beta)
        return self.encode(self.a), self.encode(self.b)

    def commit(self, coefficients):
        self.taus = [self.dice() for _ in coefficients]
        self.points = [self.gens.commit_coefficient(t, tau) for t, tau in zip(coefficients, self.taus, strict=True)]
        return [self.encode(point) for point in self.points]

    def finish(self, c, indexes):
        scalars = [(self.digits[i] * c + self.masks[i]) % ORDER for i in indexes]
        scalars += [(self.alpha * c + self.beta) % ORDER, evaluate(self.taus, c)]
        points = [self.a, *self.points[1:]]
        return b"".join(map(self.encode, points)) + b"".join(scalar.to_bytes(32, "big") for scalar in scalars)


class CheatingRange:
    """Digits of the forger's choice; the top coefficient of the check polynomial is dropped as if it were zero."""

    def __init__(self, gens, layout, digits, message_masks, dice, *, free_masks=None, beta=None):
        masks = []
        position = 0
        for plan, message_mask in zip(layout.plans, message_masks, strict=True):
            free = (
                [dice() for _ in plan[:-1]] if free_masks is None else free_masks[position : position + len(plan) - 1]
            )
            weighted = sum(digit.weight * mask for digit, mask in zip(plan, free, strict=False))
            masks += [*free, (message_mask - weighted) % ORDER]
            position += len(free)
        self.layout = layout
        self.vector = Vector(gens, digits, masks, dice, beta=beta)

    def first(self):
        return self.vector.first()

    def coefficients(self, y):
        """By interpolation at 0 … 4, so that it holds for digits that are none."""
        digits, vector = self.layout.digits, self.vector
        values = []
        for c in range(5):
            responses = [e * c + a for e, a in zip(vector.digits, vector.masks, strict=True)]
            values.append(range_argument.check_value(digits, responses, y, c))
        return interpolated(values)

    def second(self, y):
        return self.vector.commit(self.coefficients(y)[:4])

    def proof(self, c):
        return self.vector.finish(c, self.layout.sent)


def interpolated(values):
    """The coefficients, lowest first, of the polynomial with these values at 0, 1, 2, …"""
    count = len(values)
    coefficients = [0] * count
    for i, value in enumerate(values):
        basis, scale = [1], 1
        for j in range(count):
            if j != i:
                basis = [(low - j * high) % ORDER for low, high in zip([0, *basis], [*basis, 0], strict=True)]
                scale = scale * (i - j) % ORDER
        factor = value * pow(scale, -1, ORDER)
        coefficients = [(old + factor * new) % ORDER for old, new in zip(coefficients, basis, strict=True)]
    return coefficients


class Forger:
    """Makes a proof of ``asked`` from any signed messages and any arguments.

    ``arguments(relation, messages, masks, dice)`` gives the objects with ``first``, ``second`` and ``proof``; by default
    the honest ones.
    """

    def __init__(self, asked, *, messages=None, signature=None, curve=CURVE, seed=1, bound=None):
        self.curve = curve
        self.gens = generators(curve)
        self.suite = ciphersuite(curve)
        self.asked = asked
        self.context = context() if bound is None else bound
        self.relation = Relation.from_statement(asked)
        slots = SCHEMA.messages(HANA) if messages is None else messages
        self.messages = mixed_messages_to_scalars(slots)
        self.signature = ISSUER.sign(asked.schema, tuple(slots)) if signature is None else signature
        source = random.Random(seed)
        self.dice = lambda: source.randrange(ORDER)
        self.masks = {slot: self.dice() for slot in self.relation.hidden} | dict.fromkeys(self.relation.equal, 1)
        self.scalars = [self.dice() for _ in range(5)]

    def arguments(self):
        honest_prover = Proving(self.curve, fixed_random(7))
        return honest_prover._arguments(self.relation, self.messages, self.masks, Dice(fixed_random(8), b""))

    def forge(self, arguments=None):
        relation = self.relation
        key = octets_to_public_key(self.suite, self.asked.issuer.public_key)
        signature = octets_to_signature(self.suite, self.signature)
        dice = RandomScalars(*self.scalars, tuple(self.masks[slot] for slot in relation.hidden))
        header = self.asked.schema.header
        init = core.proof_init(self.suite, key, signature, header, self.messages, sorted(relation.disclosed), dice)
        arguments = self.arguments() if arguments is None else arguments
        commitments = [data for argument in arguments for data in argument.first()]
        transcript = relation.first_challenge(self.context, init.points_octets, init.domain, commitments)
        coefficients = [data for argument in arguments for data in argument.second(transcript.y)]
        c = calculate_challenge(init, relation.disclosed, transcript.presentation_header(coefficients))
        hidden = [self.messages[slot] for slot in relation.hidden]
        proof = core.proof_finalize(init, c, signature.e, dice, hidden)
        return self.wrapped(proof_to_octets(proof), tuple(argument.proof(c) for argument in arguments))

    def wrapped(self, bbs_proof, sub_proofs):
        return wrap(self.asked, self.context, bbs_proof, sub_proofs, self.relation.shown)


def wrap(asked, bound, bbs_proof, sub_proofs, shown=None):
    """An envelope that says what the forger wants."""
    presented = PresentedProof(asked.issuer.verification_method, asked.schema, asked.predicates, bound)
    shown = Relation.from_statement(asked).shown if shown is None else shown
    text = Envelope(presented, shown, bbs_proof, sub_proofs).encode()
    return ZkProof(text, public_signals(labels.SUITE, asked, bound), predicate_type(asked), bound.proof_id)


def parts(proof):
    """The bytes of a proof: that of BBS and the sub-proofs."""
    envelope = Envelope.decode(proof.proof)
    return envelope.bbs_proof, envelope.predicate_proofs


def verdict(asked, proof, *, curve=CURVE, bound=None):
    """True, or the reason of the refusal; anything else is raised."""
    bound = context() if bound is None else bound
    try:
        BbsProver(curve, fixed_random()).verify(asked, proof, context=bound, now=NOW)
    except ProofInvalid as refused:
        return refused.details.get("reason", str(refused))
    return True


def honest(asked, *, values=HANA, seed=3, bound=None, curve=CURVE):
    """A proof by our own prover."""
    prover = BbsProver(curve, fixed_random(seed))
    witness = ISSUER.credential(asked.schema, values)
    return prover.prove(asked, witness, context=context() if bound is None else bound)


def ask(*predicates, schema=SCHEMA):
    return statement(ISSUER.key, *predicates, schema=schema)


def relabelled(proof, asked, bound):
    """The same proof bytes in the envelope of another statement or context."""
    bbs_proof, sub_proofs = parts(proof)
    return wrap(asked, bound, bbs_proof, sub_proofs)


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unb64(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
