"""False statements by a prover who knows the protocol: each must be refused, and its honest twin accepted."""

import random
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_kit.conformance.prover_cases import HANA, SCHEMA, BbsIssuer
from identity_prover_bbs import set_argument
from identity_prover_bbs.dice import Dice
from identity_prover_bbs.plan import decompose
from identity_prover_bbs.range_argument import RangeProver
from identity_prover_bbs.set_argument import SetProver

from identity_bbs.bls12381 import ORDER
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import NULL_OCTETS, NULL_SCALAR, OFFSET, Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported
from tests.attack.prover_forge import (
    CURVE,
    CheatingRange,
    Forger,
    Vector,
    ask,
    fixed_random,
    honest,
    interpolated,
    parts,
    relabelled,
    verdict,
    wrap,
)
from tests.curves import BACKENDS, curve_on

BALANCE, SCORE, DEBT = (SCHEMA.numeric_slot(name) for name in ("balance", "score", "debt"))
MISMATCH = "the proof does not match"


def with_slot(slot, scalar):
    messages = list(SCHEMA.messages(HANA))
    messages[slot] = scalar
    return messages


def cheating(forger, digits, **options):
    slots = [goal.slot for goal in forger.relation.ranges.goals]
    return CheatingRange(
        forger.gens, forger.relation.ranges, digits, [forger.masks[slot] for slot in slots], forger.dice, **options
    )


def true_digits(forger):
    ranges = forger.relation.ranges
    return [
        digit
        for goal, plan in zip(ranges.goals, ranges.plans, strict=True)
        for digit in decompose(plan, forger.messages[goal.slot] - goal.low)
    ]


def test_the_forger_is_honest_when_he_wants():
    forger = Forger(ask(("balance", "gte", 5), ("score", "lte", 230), ("country", "set_member", ["DE", "JP"])))
    assert verdict(forger.asked, forger.forge()) is True
    arguments = forger.arguments()
    arguments[0] = cheating(forger, true_digits(forger))
    assert verdict(forger.asked, forger.forge(arguments)) is True


# Linking.


def test_a_bound_is_not_met_by_another_attribute():
    asked = ask(("score", "gte", 230))
    forger = Forger(asked)
    layout = forger.relation.ranges
    # Hana's score is 211; her balance, and a made-up number, are larger.
    for value, mask in ((OFFSET + 231, forger.masks[BALANCE]), (OFFSET + 231, forger.masks[SCORE]), (OFFSET + 255, 5)):
        argument = RangeProver(forger.gens, layout, [value], [mask], Dice(fixed_random(), b""))
        assert verdict(asked, forger.forge([argument])) == MISMATCH


def test_a_set_is_not_met_by_another_attribute():
    asked = ask(("country", "set_member", ["DE", "Hana Mori-Castellanos"]))
    forger = Forger(asked)
    layout = forger.relation.sets[0]
    for slot in (SCHEMA.hashed_slot("name"), SCHEMA.hashed_slot("country")):
        argument = SetProver(forger.gens, layout, forger.messages[0], forger.masks[slot], Dice(fixed_random(), b""))
        assert verdict(asked, forger.forge([argument])) == MISMATCH


def test_the_mask_of_the_argument_is_that_of_the_message():
    asked = ask(("score", "gte", 5))
    forger = Forger(asked)
    argument = RangeProver(
        forger.gens, forger.relation.ranges, [forger.messages[SCORE]], [forger.dice()], Dice(fixed_random(), b"")
    )
    assert verdict(asked, forger.forge([argument])) == MISMATCH


def test_swapped_slots_of_an_aggregated_range():
    asked = ask(("balance", "gte", 5), ("score", "gte", 5))
    forger = Forger(asked)
    layout = forger.relation.ranges
    values = [forger.messages[goal.slot] for goal in layout.goals]
    masks = [forger.masks[goal.slot] for goal in layout.goals]
    swapped = RangeProver(forger.gens, layout, values, masks[::-1], Dice(fixed_random(), b""))
    assert verdict(asked, forger.forge([swapped])) == MISMATCH


def test_sub_proofs_do_not_move_between_proofs():
    asked = ask(("balance", "gte", 5), ("country", "set_member", ["DE", "JP"]))
    first, second = (parts(honest(asked, seed=seed)) for seed in (1, 2))
    assert verdict(asked, wrap(asked, Forger(asked).context, *first)) is True
    for bbs_proof, subs in (
        (first[0], second[1]),
        (first[0], (first[1][0], second[1][1])),
        (first[0], (second[1][0], first[1][1])),
        (second[0], first[1]),
    ):
        assert verdict(asked, wrap(asked, Forger(asked).context, bbs_proof, subs)) == MISMATCH
    lengths = "the sub-proofs are not those of the statement"
    for subs in ((), first[1][:1], first[1][1:], first[1][::-1], (*first[1], first[1][0])):
        assert verdict(asked, wrap(asked, Forger(asked).context, first[0], subs)) == lengths


# Slots that no honest issuer signs.


@pytest.mark.parametrize(
    "scalar", [NULL_SCALAR, NULL_SCALAR + 5, ORDER - 1, ORDER - 5, OFFSET << 1, (1 << 66) + 7, 1 << 200]
)
@pytest.mark.parametrize(
    "predicate",
    [
        ("balance", "gte", 10),
        ("balance", "gt", 10),
        ("balance", "lte", 10),
        ("balance", "lt", 10),
        ("balance", "eq", 10),
        ("balance", "set_member", [10, 11]),
    ],
    ids=lambda one: one[1],
)
def test_no_predicate_is_met_outside_the_domain(scalar, predicate):
    asked = ask(predicate)
    forger = Forger(asked, messages=with_slot(BALANCE, scalar))
    if forger.relation.ranges.goals:
        (goal,), (plan,) = forger.relation.ranges.goals, forger.relation.ranges.plans
        with pytest.raises(ValueError, match="outside"):
            decompose(plan, scalar - goal.low)
        # The digits that add up to the distance modulo r, with all that is too much in the last one.
        guesses = [
            [0] * (len(plan) - 1) + [(scalar - goal.low) % ORDER],
            [digit.radix - 1 for digit in plan],
            [0] * len(plan),
        ]
        for digits in guesses:
            assert verdict(asked, forger.forge([cheating(forger, digits)])) == MISMATCH
    elif forger.relation.sets:
        layout = forger.relation.sets[0]
        for value in layout.scalars:
            argument = SetProver(forger.gens, layout, value, forger.masks[BALANCE], Dice(fixed_random(), b""))
            assert verdict(asked, forger.forge([argument])) == MISMATCH
    else:
        assert verdict(asked, forger.forge()) == MISMATCH


def test_the_null_marker_is_refused_by_every_predicate():
    assert SCHEMA.messages(HANA)[DEBT] == NULL_SCALAR
    for kind, value in (("gte", 0), ("lte", 0), ("eq", 0), ("set_member", [0, 1]), ("gt", -5), ("lt", 7)):
        with pytest.raises(PredicateNotSatisfied):
            honest(ask(("debt", kind, value)))


def test_a_null_text_equals_no_text():
    values = {**HANA, "name": None}
    assert SCHEMA.messages(values)[0] == NULL_OCTETS
    for text in ("", "null", "\x00", "None"):
        with pytest.raises(PredicateNotSatisfied):
            honest(ask(("name", "eq", text)), values=values)


# Digits.


def mixed_schema():
    """A domain whose plan has all three radixes."""
    attributes = (Attribute(name, AttributeType.INTEGER, low=0, high=10_000) for name in "nk")
    return Schema("urn:mixed", tuple(attributes))


@pytest.mark.parametrize("high", [1, 2, 3, 4, 5, 8, 13, 200, 4095, 9_999])
def test_a_digit_that_is_none_is_refused_at_every_position(high):
    schema = mixed_schema()
    asked = ask(("n", "lte", high), schema=schema)
    (plan,) = Forger(asked, messages=[b"", b"", OFFSET, OFFSET]).relation.ranges.plans
    for position, digit in enumerate(plan):
        for wrong in (digit.radix, digit.radix + 1, -1, ORDER - 1, -5, 1 << 64):
            digits = [0] * len(plan)
            digits[position] = wrong
            value = sum(d.weight * e for d, e in zip(plan, digits, strict=True)) % ORDER
            forger = Forger(asked, messages=[b"", b"", (OFFSET + value) % ORDER, OFFSET])
            assert verdict(asked, forger.forge([cheating(forger, digits)])) == MISMATCH
        digits[position] = digit.radix - 1
        value = sum(d.weight * e for d, e in zip(plan, digits, strict=True))
        forger = Forger(asked, messages=[b"", b"", OFFSET + value, OFFSET])
        assert verdict(asked, forger.forge([cheating(forger, digits)])) is True


def test_digits_that_recombine_modulo_the_order_are_refused():
    asked = ask(("n", "lte", 4095), schema=mixed_schema())
    forger = Forger(asked, messages=[b"", b"", OFFSET + 5000, OFFSET])
    (plan,) = forger.relation.ranges.plans
    source = random.Random(5)
    for position, digit in enumerate(plan[:-1]):
        digits = [source.randrange(ORDER) if i == position else 0 for i in range(len(plan))]
        rest = 5000 - digit.weight * digits[position]
        digits[-1] = rest % ORDER
        assert sum(d.weight * e for d, e in zip(plan, digits, strict=True)) % ORDER == 5000
        assert verdict(asked, forger.forge([cheating(forger, digits)])) == MISMATCH


def test_errors_of_two_digits_do_not_cancel():
    """y weighs each digit anew, so that what cancels for one y does not for the next."""
    asked = ask(("n", "lte", 4095), schema=mixed_schema())
    forger = Forger(asked, messages=[b"", b"", OFFSET, OFFSET])
    (plan,) = forger.relation.ranges.plans
    digits = [0] * len(plan)
    digits[0], digits[1] = -1, plan[0].weight * pow(plan[1].weight, -1, ORDER) % ORDER
    assert verdict(asked, forger.forge([cheating(forger, digits)])) == MISMATCH


def square_root(value):
    """Tonelli and Shanks; None for a non-residue."""
    odd, twos = (ORDER - 1) >> 32, 32
    if pow(value, (ORDER - 1) // 2, ORDER) != 1:
        return None
    nonresidue = next(n for n in range(2, 99) if pow(n, (ORDER - 1) // 2, ORDER) == ORDER - 1)
    generator, root, rest = pow(nonresidue, odd, ORDER), pow(value, (odd + 1) // 2, ORDER), pow(value, odd, ORDER)
    while rest != 1:
        order = next(i for i in range(1, twos) if pow(rest, 1 << i, ORDER) == 1)
        factor = pow(generator, 1 << (twos - order - 1), ORDER)
        generator, root = factor * factor % ORDER, root * factor % ORDER
        rest, twos = rest * generator % ORDER, order
    return root


def test_errors_that_cancel_for_a_predicted_y_are_refused():
    """The forger learns y from a first run and solves the digits for it. They are under A, so y is another the next time."""
    asked = ask(("n", "lte", 10), schema=mixed_schema())
    (plan,) = Forger(asked, messages=[b"", b"", OFFSET, OFFSET]).relation.ranges.plans
    assert [digit.radix for digit in plan] == [4, 4, 2]

    class Listening(CheatingRange):
        def second(self, y):
            self.y = y
            return super().second(y)

    def attempt(digits):
        value = sum(digit.weight * e for digit, e in zip(plan, digits, strict=True)) % ORDER
        forger = Forger(asked, messages=[b"", b"", (OFFSET + value) % ORDER, OFFSET])
        argument = Listening(forger.gens, forger.relation.ranges, digits, [forger.masks[2]], forger.dice)
        return verdict(asked, forger.forge([argument])), argument.y

    _, y = attempt([0, 0, 0])
    for wrong in range(77, 99):
        error = wrong * (wrong - 1) * (wrong - 2) * (wrong - 3)
        root = square_root((1 - 4 * error * pow(y, -2, ORDER)) % ORDER)
        if root is not None:
            break
    bit = (1 + root) * pow(2, -1, ORDER) % ORDER
    assert (y * error + pow(y, 3, ORDER) * bit * (bit - 1)) % ORDER == 0
    assert attempt([wrong, 0, bit])[0] == MISMATCH


@settings(max_examples=25, deadline=None)
@given(
    value=st.integers(-(2**63), 2**63 - 1),
    bound=st.integers(-(2**63) + 1, 2**63 - 2),
    kind=st.sampled_from(["gte", "gt", "lte", "lt"]),
)
def test_verdict_equals_python_and_falsehood_fails(value, bound, kind):
    true = {"gte": value >= bound, "gt": value > bound, "lte": value <= bound, "lt": value < bound}[kind]
    asked = ask(("balance", kind, bound if abs(bound) < 2**53 else str(bound)))
    values = {**HANA, "balance": value if abs(value) < 2**53 else str(value)}
    if true:
        assert verdict(asked, honest(asked, values=values)) is True
        return
    with pytest.raises(PredicateNotSatisfied):
        honest(asked, values=values)
    forger = Forger(asked, messages=SCHEMA.messages(values))
    if forger.relation.equal:
        assert verdict(asked, forger.forge()) == MISMATCH
        return
    (goal,), (plan,) = forger.relation.ranges.goals, forger.relation.ranges.plans
    distance = (forger.messages[BALANCE] - goal.low) % ORDER
    greedy = []
    for digit in plan[:-1]:
        greedy.append(min(digit.radix - 1, distance // digit.weight))
        distance = (distance - digit.weight * greedy[-1]) % ORDER
    assert verdict(asked, forger.forge([cheating(forger, [*greedy, distance])])) == MISMATCH


@pytest.mark.parametrize("value", [-(2**63), -(2**63) + 1, -(2**53), -1, 0, 1, 2**53, 2**63 - 2, 2**63 - 1])
def test_the_edges_of_all_operators(value):
    values = {**HANA, "balance": value if abs(value) < 2**53 else str(value)}
    for kind in ("gte", "gt", "lte", "lt", "eq"):
        for bound in (value - 1, value, value + 1):
            predicate = ("balance", kind, bound if abs(bound) < 2**53 else str(bound))
            true = {
                "gte": value >= bound,
                "gt": value > bound,
                "lte": value <= bound,
                "lt": value < bound,
                "eq": value == bound,
            }[kind]
            try:
                asked = ask(predicate)
            except PredicateUnsupported:
                continue
            if true:
                assert verdict(asked, honest(asked, values=values)) is True
            else:
                with pytest.raises(PredicateNotSatisfied):
                    honest(asked, values=values)


# Sets.


class CheatingSet:
    """Index bits of the forger's choice, a polynomial by interpolation, its top coefficient dropped."""

    def __init__(self, forger, layout, bits, mask):
        self.layout, self.mask, self.message = layout, mask, forger.messages[layout.slot]
        self.vector = Vector(forger.gens, bits, [forger.dice() for _ in bits], forger.dice)

    def first(self):
        return self.vector.first()

    def second(self, y):
        vector, count = self.vector, self.layout.bits
        values = []
        for c in range(count + 1):
            responses = [b * c + a for b, a in zip(vector.digits, vector.masks, strict=True)]
            m_hat = self.message * c + self.mask
            values.append(set_argument.check_value(self.layout.padded, responses, m_hat, y, c))
        return vector.commit(interpolated(values)[:-1])

    def proof(self, c):
        return self.vector.finish(c, range(self.layout.bits))


@pytest.mark.parametrize("size", [2, 3, 4, 5, 16, 17])
def test_bits_that_are_none_are_refused(size):
    asked = ask(("score", "set_member", list(range(size))))
    forger = Forger(asked)
    (layout,) = forger.relation.sets
    mask = forger.masks[SCORE]
    # Hana's 211 is not a member. One coordinate of the multilinear extension is solved for it.
    s = layout.padded
    low, high = s[0], s[1]
    assert low != high
    bit = (forger.messages[SCORE] - low) * pow(high - low, -1, ORDER) % ORDER
    assert (
        verdict(asked, forger.forge([CheatingSet(forger, layout, [bit] + [0] * (layout.bits - 1), mask)])) == MISMATCH
    )
    for bits in ([0] * layout.bits, [1] * layout.bits):
        assert verdict(asked, forger.forge([CheatingSet(forger, layout, bits, mask)])) == MISMATCH


def test_every_member_is_accepted_and_its_neighbours_are_not():
    members = [0, 1, 5, 200, 255]
    for value in members:
        asked = ask(("score", "set_member", members))
        assert verdict(asked, honest(asked, values={**HANA, "score": value})) is True
    for value in (2, 4, 6, 199, 201, 254):
        with pytest.raises(PredicateNotSatisfied):
            honest(ask(("score", "set_member", members)), values={**HANA, "score": value})


@pytest.mark.parametrize("size", [2, 3, 4, 5, 63, 64, 65, 1024, 4096])
def test_sets_of_every_size(size):
    members = list(range(10_000, 10_000 + size))
    asked = ask(("balance", "set_member", members))
    for value in (members[0], members[-1], members[size // 2]):
        assert verdict(asked, honest(asked, values={**HANA, "balance": value})) is True


# Equality.


@pytest.mark.parametrize("value", [0, 255, 1, 211])
def test_equality_at_the_edges_of_a_domain(value):
    asked = ask(("score", "eq", value))
    assert verdict(asked, honest(asked, values={**HANA, "score": value})) is True
    with pytest.raises(PredicateNotSatisfied):
        honest(asked, values={**HANA, "score": value ^ 1})


def test_equality_at_the_scalar_zero():
    asked = ask(("balance", "eq", str(-(2**63))))
    assert verdict(asked, honest(asked, values={**HANA, "balance": str(-(2**63))})) is True


def test_equality_needs_its_mask_and_its_value():
    for value, mask in ((211, 2), (211, 0), (211, ORDER - 1), (212, 1), (210, 1), (212, 211)):
        asked = ask(("score", "eq", value))
        forger = Forger(asked)
        forger.masks[SCORE] = mask
        assert verdict(asked, forger.forge()) == MISMATCH


# What the verifier recomputes.


@pytest.mark.parametrize("backend", BACKENDS)
def test_recomputed_points_that_are_the_identity_are_refused(backend):
    curve = curve_on(backend)
    asked = ask(("n", "lte", 2), schema=mixed_schema())
    messages = [b"", b"", OFFSET + 1, OFFSET]

    def forger():
        made = Forger(asked, messages=messages, curve=curve)
        made.masks[2] = 0
        return made

    # B: all masks and beta are zero, so the message's mask is zero too.
    first = forger()
    assert verdict(asked, first.forge([cheating(first, [1], free_masks=[], beta=0)]), curve=curve) == MISMATCH

    # T_0: its coefficient and blinding are zero.
    class NoConstant(CheatingRange):
        def second(self, y):
            made = super().second(y)
            constant = self.coefficients(y)[0]
            self.vector.taus[0] = 0
            self.vector.points[0] = self.vector.gens.commit_coefficient(constant, 0)
            return [self.vector.encode(self.vector.points[0]), *made[1:]]

    second = forger()
    argument = NoConstant(second.gens, second.relation.ranges, [1], [0], second.dice, free_masks=[])
    assert verdict(asked, second.forge([argument]), curve=curve) == MISMATCH
    # T1: e~ and r1~ are zero. T2: r3~ and all masks are zero.
    third = forger()
    third.masks[2] = 5
    third.scalars[2] = third.scalars[3] = 0
    assert verdict(asked, third.forge([cheating(third, [1])]), curve=curve) == MISMATCH
    fourth = forger()
    fourth.masks = dict.fromkeys(fourth.masks, 0)
    fourth.scalars[4] = 0
    assert verdict(asked, fourth.forge([cheating(fourth, [1])]), curve=curve) == MISMATCH


# Credentials without an issuer.


def test_a_signature_that_the_issuer_did_not_make_is_refused():
    """Everything fits together but the pairing: the messages are the forger's own."""
    asked = ask(("score", "gte", 250), ("country", "eq", "DE"))
    messages = list(SCHEMA.messages({**HANA, "score": 255, "country": "DE"}))
    own = BbsIssuer("mallory").sign(SCHEMA, tuple(messages))
    random_point = CURVE.g1_to_octets(CURVE.g1_mul(CURVE.g1_generator(), 12345)) + (7).to_bytes(32, "big")
    hanas = BbsIssuer().sign(SCHEMA, SCHEMA.messages(HANA))
    for signature in (own, random_point, hanas):
        forger = Forger(asked, messages=messages, signature=signature)
        assert verdict(asked, forger.forge()) == MISMATCH
    forger = Forger(asked, messages=messages)
    assert verdict(asked, forger.forge()) is True


# Frozen Heart: what is chosen after the challenge that should have hashed it.


def test_a_coefficient_chosen_after_the_challenge_is_refused():
    """With false digits, T_1 is solved for once c is known; the verifier's c is then another."""
    asked = ask(("n", "lte", 4095), schema=mixed_schema())
    forger = Forger(asked, messages=[b"", b"", OFFSET + 5000, OFFSET])
    (plan,) = forger.relation.ranges.plans

    class Late(CheatingRange):
        def second(self, y):
            self.y = y
            return super().second(y)

        def proof(self, c):
            top = self.coefficients(self.y)[4]
            shift = top * pow(c, 3, ORDER)
            curve = self.vector.gens.curve
            self.vector.points[1] = curve.g1_add(self.vector.points[1], self.vector.gens.commit_coefficient(shift, 0))
            return super().proof(c)

    digits = [0] * (len(plan) - 1) + [5000]
    argument = Late(forger.gens, forger.relation.ranges, digits, [forger.masks[2]], forger.dice)
    assert verdict(asked, forger.forge([argument])) == MISMATCH


def test_digits_chosen_after_y_are_refused():
    asked = ask(("n", "lte", 4095), schema=mixed_schema())
    forger = Forger(asked, messages=[b"", b"", OFFSET + 5000, OFFSET])
    (plan,) = forger.relation.ranges.plans

    class Late(CheatingRange):
        def second(self, y):
            self.vector.digits = [0] * (len(plan) - 1) + [5000]
            self.vector.a = self.vector.gens.commit_masks(self.vector.digits, self.vector.alpha)
            return super().second(y)

    argument = Late(forger.gens, forger.relation.ranges, decompose(plan, 4000), [forger.masks[2]], forger.dice)
    assert verdict(asked, forger.forge([argument])) == MISMATCH


def other_statements():
    mallory = BbsIssuer("mallory").key
    original = ask(("score", "gte", 100), ("country", "set_member", ["DE", "JP"]), ("resident", "eq", True))
    yield original, replace(original, issuer=replace(original.issuer, public_key=mallory.public_key))
    yield original, replace(original, issuer=replace(original.issuer, verification_method="did:example:other#bbs"))
    yield original, replace(original, schema=replace(SCHEMA, id="urn:other"))
    for changed in (
        [("score", "gte", 99), ("country", "set_member", ["DE", "JP"]), ("resident", "eq", True)],
        [("score", "gt", 99), ("country", "set_member", ["DE", "JP"]), ("resident", "eq", True)],
        [("score", "gte", 100), ("country", "set_member", ["DE", "JPX"]), ("resident", "eq", True)],
        [("score", "gte", 100), ("name", "set_member", ["DE", "JP"]), ("resident", "eq", True)],
        [("score", "gte", 100), ("country", "set_member", ["DE", "JP"]), ("resident", "eq", False)],
        [("country", "set_member", ["DE", "JP"]), ("score", "gte", 100), ("resident", "eq", True)],
        [
            ("score", "gte", 100),
            ("score", "gte", 50),
            ("country", "set_member", ["DE", "JP"]),
            ("resident", "eq", True),
        ],
    ):
        yield original, ask(*changed)


@pytest.mark.parametrize(("asked", "other"), list(other_statements()))
def test_a_proof_in_the_envelope_of_another_statement(asked, other):
    """The forger writes a perfect envelope around the old bytes; only the challenges stand in his way."""
    proof = honest(asked)
    assert verdict(asked, proof) is True
    bound = Forger(asked).context
    assert verdict(other, relabelled(proof, other, bound)) in (
        MISMATCH,
        "the sub-proofs are not those of the statement",
    )


@pytest.mark.parametrize("field", ["audience", "nonce", "issued_at", "expires_at", "proof_id", "capability", "agent"])
def test_a_proof_in_the_envelope_of_another_context(field):
    asked = ask(("score", "gte", 100))
    proof, bound = honest(asked), Forger(asked).context
    other = {
        "audience": "https://verifier.examplf",
        "nonce": bound.nonce + b"\x00",
        "issued_at": bound.issued_at - timedelta(seconds=1),
        "expires_at": bound.expires_at + timedelta(seconds=1),
        "proof_id": "proof-10",
        "capability": None,
        "agent": "did:example:aki",
    }[field]
    changed = replace(bound, **{field: other})
    assert verdict(asked, relabelled(proof, asked, changed), bound=changed) == MISMATCH


def test_fields_cannot_be_shifted_into_each_other():
    """Length prefixes: what ends one field cannot begin the next."""
    asked = ask(("score", "gte", 100))
    bound = replace(Forger(asked).context, audience="ab", proof_id="c", agent=None, capability=None)
    shifted = replace(bound, audience="a", proof_id="bc")
    proof = honest(asked, bound=bound)
    assert verdict(asked, proof, bound=bound) is True
    assert verdict(asked, relabelled(proof, asked, shifted), bound=shifted) == MISMATCH
