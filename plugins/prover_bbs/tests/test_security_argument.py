"""PROTOCOL.md §9 as code: the extractor forks a prover, the simulator does without a witness."""

import random

import pytest
from identity_kit.conformance.prover_cases import HANA, IVO, SCHEMA, BbsIssuer, statement
from identity_prover_bbs.committed_vector import ProverVector, evaluate, octets_of_vector_proof
from identity_prover_bbs.dice import Dice
from identity_prover_bbs.generators import generators
from identity_prover_bbs.plan import plan
from identity_prover_bbs.prover import Proving
from identity_prover_bbs.range_argument import (
    RangeProver,
    RangeVerifier,
    all_responses,
    check_coefficients,
    check_value,
)
from identity_prover_bbs.relation import Relation
from identity_prover_bbs.set_argument import SetProver, SetVerifier
from identity_prover_bbs.set_argument import check_coefficients as set_check_coefficients
from identity_prover_bbs.set_argument import check_value as set_check_value

from identity_bbs import core
from identity_bbs.bls12381 import ORDER, keys, select
from identity_bbs.encoding import mixed_messages_to_scalars, octets_to_public_key, octets_to_signature
from identity_bbs.suite import Proof, RandomScalars, ciphersuite

CURVE = select()
SUITE = ciphersuite(CURVE)
GENERATORS = generators(CURVE)
ISSUER = BbsIssuer()
ASKED = statement(
    ISSUER.key,
    ("score", "gte", 100),
    ("birthDate", "lte", "2008-01-02"),
    ("country", "set_member", ["DE", "ES", "FR", "JP", "PE"]),
)
KEY = octets_to_public_key(SUITE, ISSUER.key.public_key)


def scalar_of(data, position):
    return int.from_bytes(data[position : position + 32], "big")


def solved(points):
    """The polynomial's coefficients from (x, value) pairs, by Lagrange."""
    xs = [x for x, _ in points]
    total = [0] * len(points)
    for x, value in points:
        basis, scale = [1], 1
        for other in xs:
            if other != x:
                basis = [(low - other * high) % ORDER for low, high in zip([0, *basis], [*basis, 0], strict=True)]
                scale = scale * (x - other) % ORDER
        factor = value * pow(scale, -1, ORDER)
        total = [(old + factor * new) % ORDER for old, new in zip(total, basis, strict=True)]
    return total


def forked(seed, values=HANA):
    """A prover at its first message. The same seed makes the same masks: that is what forking a prover means."""
    relation = Relation.from_statement(ASKED)
    credential = ISSUER.credential(SCHEMA, values)
    messages = mixed_messages_to_scalars(SCHEMA.messages(values))
    dice = Dice(random.Random(seed).randbytes, b"")
    scalars = dice.scalars(5)
    masks = dict(zip(relation.hidden, dice.scalars(len(relation.hidden)), strict=True))
    random_scalars = RandomScalars(*scalars, tuple(masks[slot] for slot in relation.hidden))
    signature = octets_to_signature(SUITE, credential.signature)
    init = core.proof_init(SUITE, KEY, signature, SCHEMA.header, messages, [], random_scalars)
    arguments = Proving(CURVE, None)._arguments(relation, messages, masks, dice)
    commitments = [argument.first() for argument in arguments]

    def respond(y, c):
        # The coefficients' blindings are drawn with the masks, so they are the same for every y: a fork may do that.
        coefficients = [argument.second(y) for argument in arguments]
        hidden = [messages[slot] for slot in relation.hidden]
        bbs = core.proof_finalize(init, c, signature.e, random_scalars, hidden)
        return bbs, coefficients, [argument.proof(c) for argument in arguments]

    return relation, init, commitments, messages, signature, respond


def fresh(seed):
    """The prover is rebuilt before each answer, as ``second`` may be asked once only."""
    return lambda y, c: forked(seed)[5](y, c)


def test_the_extractor_recovers_digits_and_messages():
    relation, init, commitments, messages, signature, _ = forked(1)
    respond = fresh(1)
    source = random.Random(2)
    y, *challenges = (source.randrange(1, ORDER) for _ in range(6))
    transcripts = [(c, *respond(y, c)) for c in challenges]
    (c1, bbs1, coefficients, subs1), (c2, bbs2, coefficients2, subs2) = transcripts[:2]
    assert coefficients == coefficients2, "one second message for one y"
    over = pow(c1 - c2, -1, ORDER)

    # Step 1: the BBS witness, and a signature on the extracted messages.
    extracted = [(a - b) * over % ORDER for a, b in zip(bbs1.m_hats, bbs2.m_hats, strict=True)]
    assert extracted == messages
    e = (bbs1.e_hat - bbs2.e_hat) * over % ORDER
    r1 = -(bbs1.r1_hat - bbs2.r1_hat) * over % ORDER
    r3 = -(bbs1.r3_hat - bbs2.r3_hat) * over % ORDER
    assert CURVE.g1_equal(CURVE.g1_mul(init.d, r3), SUITE.commitment(init.domain, extracted))
    assert CURVE.g1_equal(init.b_bar, CURVE.g1_msm([init.d, init.a_bar], [r1, -e]))
    again = CURVE.g1_mul(init.a_bar, r3 * pow(r1, -1, ORDER))
    assert CURVE.g1_equal(again, signature.a)
    assert e == signature.e
    masks = {
        slot: (m_hat - c1 * messages[slot]) % ORDER for slot, m_hat in zip(relation.hidden, bbs1.m_hats, strict=True)
    }

    # Steps 2 and 3: the digits open A and add up to the messages.
    layout = relation.ranges
    slots = [goal.slot for goal in layout.goals]

    def responses(bbs, sub, c):
        m_hats = dict(zip(relation.hidden, bbs.m_hats, strict=True))
        sent = [scalar_of(sub, 192 + 32 * index) for index in range(len(layout.sent))]
        return all_responses(layout, sent, [m_hats[slot] for slot in slots], c)

    f1, f2 = responses(bbs1, subs1[0], c1), responses(bbs2, subs2[0], c2)
    digits = [(a - b) * over % ORDER for a, b in zip(f1, f2, strict=True)]
    z = [scalar_of(sub, len(sub) - 64) for sub in (subs1[0], subs2[0])]
    alpha = (z[0] - z[1]) * over % ORDER
    assert CURVE.g1_to_octets(GENERATORS.commit_masks(digits, alpha)) == commitments[0][0]
    assert all(0 <= digit < spec.radix for digit, spec in zip(digits, layout.digits, strict=True))
    for goal, specs, start in zip(layout.goals, layout.plans, layout.bounds, strict=False):
        part = digits[start : start + len(specs)]
        assert (
            goal.low + sum(spec.weight * digit for spec, digit in zip(specs, part, strict=True)) == messages[goal.slot]
        )
        weighted = sum(spec.weight * (f - digit * c1) for spec, f, digit in zip(specs, f1[start:], part, strict=False))
        assert (weighted - masks[goal.slot]) % ORDER == 0

    # Step 4: five challenges give F on five points, and its top coefficient is zero.
    values = [(c, check_value(layout.digits, responses(bbs, subs[0], c), y, c)) for c, bbs, _, subs in transcripts]
    polynomial = solved(values)
    assert polynomial[4] == 0
    # They also open the commitments to its coefficients.
    taus = solved([(c, scalar_of(subs[0], len(subs[0]) - 32)) for c, _, _, subs in transcripts])
    for commitment, coefficient, tau in zip(coefficients[0], polynomial[:4], taus[:4], strict=True):
        assert CURVE.g1_to_octets(GENERATORS.commit_coefficient(coefficient, tau)) == commitment

    # Step 7: the index bits of the set choose the message.
    (members,) = relation.sets
    bits = [
        (scalar_of(subs1[1], 48 * members.bits + 32 * j) - scalar_of(subs2[1], 48 * members.bits + 32 * j))
        * over
        % ORDER
        for j in range(members.bits)
    ]
    assert set(bits) <= {0, 1}
    assert members.padded[sum(bit << j for j, bit in enumerate(bits))] == messages[members.slot]


def test_a_wrong_digit_shows_in_the_top_coefficient():
    """The base of step 4 and step 5: the coefficient is a polynomial in y that vanishes identically for digits only."""
    digits = plan(4095)
    source = random.Random(3)
    for position in range(len(digits)):
        chosen = [source.randrange(digit.radix) for digit in digits]
        for wrong in (None, digits[position].radix, -1, 77):
            if wrong is not None:
                chosen[position] = wrong
            tops = []
            for y in range(1, len(digits) + 2):
                masks = [source.randrange(ORDER) for _ in digits]
                values = [
                    (c, check_value(digits, [e * c + a for e, a in zip(chosen, masks, strict=True)], y, c))
                    for c in range(5)
                ]
                tops.append(solved(values)[4])
            assert (set(tops) == {0}) == (wrong is None)


def simulated(relation, y, c, source, secret):
    """HVZK simulator of PROTOCOL.md §9.5: no credential, only one pair (R, sk R)."""

    def draw():
        return source.randrange(1, ORDER)

    rho = CURVE.g1_mul(CURVE.g1_generator(), draw())
    a_bar, b_bar, d = rho, CURVE.g1_mul(rho, secret), CURVE.g1_mul(CURVE.g1_generator(), draw())
    m_hats = {slot: draw() for slot in relation.hidden}
    m_hats |= {slot: (value * c + 1) % ORDER for slot, value in relation.equal.items()}
    points = b"".join(map(CURVE.g1_to_octets, (a_bar, b_bar, d)))
    bbs = Proof(a_bar, b_bar, d, draw(), draw(), draw(), tuple(m_hats.values()), c, points)

    def vector(count, responses):
        data = b"".join(CURVE.g1_to_octets(CURVE.g1_mul(CURVE.g1_generator(), draw())) for _ in range(count))
        data += b"".join(draw().to_bytes(32, "big") for _ in range(responses + 2))
        assert len(data) == octets_of_vector_proof(count, responses)
        return data

    layout = relation.ranges
    slots = [goal.slot for goal in layout.goals]
    data = vector(4, len(layout.sent))
    arguments = [RangeVerifier(GENERATORS, layout, data, c, [m_hats[slot] for slot in slots])]
    proofs = [data]
    for members in relation.sets:
        data = vector(members.bits, members.bits)
        arguments.append(SetVerifier(GENERATORS, members, data, c, m_hats[members.slot]))
        proofs.append(data)
    return bbs, [argument.first() for argument in arguments], [argument.second(y) for argument in arguments], proofs


def test_the_simulator_satisfies_every_equation():
    """A verifier whose oracle answers as the simulator programmed it accepts: both challenges, all commitments, the pairing."""
    asked = statement(
        ISSUER.key, ("score", "gte", 100), ("balance", "eq", 9), ("country", "set_member", ["DE", "JP", "ES"])
    )
    relation = Relation.from_statement(asked)
    source = random.Random(4)
    y, c = source.randrange(ORDER), source.randrange(1, ORDER)
    secret = keys.secret_scalar(ISSUER._secret)
    bbs, firsts, seconds, proofs = simulated(relation, y, c, source, secret)
    core.proof_verify_init(SUITE, KEY, bbs, SCHEMA.header, relation.disclosed)
    core.check_pairing(SUITE, KEY, bbs)
    m_hats = dict(zip(relation.hidden, bbs.m_hats, strict=True))
    assert all(m_hats[slot] == (value * c + 1) % ORDER for slot, value in relation.equal.items())

    # The verification equations, written out once more from the page and not by the code that made them.
    layout, data = relation.ranges, proofs[0]
    points = [CURVE.octets_to_g1(data[48 * k : 48 * k + 48]) for k in range(4)]
    sent = [scalar_of(data, 192 + 32 * k) for k in range(len(layout.sent))]
    z, zt = (scalar_of(data, len(data) - 64 + 32 * k) for k in range(2))
    f = all_responses(layout, sent, [m_hats[goal.slot] for goal in layout.goals], c)
    b = CURVE.octets_to_g1(firsts[0][1])
    left = CURVE.g1_add(b, CURVE.g1_mul(points[0], c))
    assert CURVE.g1_equal(left, GENERATORS.commit_masks(f, z))
    t = [CURVE.octets_to_g1(point) for point in seconds[0]]
    powers = [pow(c, k, ORDER) for k in range(4)]
    assert CURVE.g1_equal(
        CURVE.g1_msm(t, powers), GENERATORS.commit_coefficient(check_value(layout.digits, f, y, c), zt)
    )

    (members,), data = relation.sets, proofs[1]
    f = [scalar_of(data, 48 * members.bits + 32 * k) for k in range(members.bits)]
    zt = scalar_of(data, len(data) - 32)
    t = [CURVE.octets_to_g1(point) for point in seconds[1]]
    value = set_check_value(members.padded, f, m_hats[members.slot], y, c)
    assert CURVE.g1_equal(
        CURVE.g1_msm(t, [pow(c, k, ORDER) for k in range(members.bits)]), GENERATORS.commit_coefficient(value, zt)
    )


def test_equations_hold_for_real_transcripts_of_any_challenge():
    """Completeness beyond the hash: prover and verifier sides agree for challenges that are not hashes."""
    source = random.Random(5)
    for _ in range(5):
        y, c = source.randrange(ORDER), source.randrange(1, ORDER)
        relation, _, commitments, _, _, respond = forked(source.random())
        bbs, coefficients, proofs = respond(y, c)
        m_hats = dict(zip(relation.hidden, bbs.m_hats, strict=True))
        slots = [goal.slot for goal in relation.ranges.goals]
        verifiers = [RangeVerifier(GENERATORS, relation.ranges, proofs[0], c, [m_hats[slot] for slot in slots])]
        (members,) = relation.sets
        verifiers.append(SetVerifier(GENERATORS, members, proofs[1], c, m_hats[members.slot]))
        assert [verifier.first() for verifier in verifiers] == commitments
        assert [verifier.second(y) for verifier in verifiers] == coefficients


def low_bytes(values, rounds):
    """The low byte of every response of many proofs."""
    counts = [0] * 16
    source = random.Random(6)
    for _ in range(rounds):
        bbs, _, proofs = forked(source.random(), values)[5](source.randrange(ORDER), source.randrange(1, ORDER))
        scalars = [*bbs.m_hats, bbs.e_hat, bbs.r1_hat, bbs.r3_hat]
        for data, points in ((proofs[0], 4), (proofs[1], 3)):
            scalars += [scalar_of(data, start) for start in range(48 * points, len(data), 32)]
        for scalar in scalars:
            counts[scalar % 16] += 1
    return counts


def test_the_responses_of_two_holders_look_alike():
    """Chi-square of the responses against uniform, for two witnesses of one statement (15 degrees of freedom, p = 10^-6: 58)."""
    other = {**IVO, "score": 255, "birthDate": "1901-01-01"}
    for values in (HANA, other):
        counts = low_bytes(values, 60)
        expected = sum(counts) / 16
        assert sum((count - expected) ** 2 / expected for count in counts) < 58


def test_the_number_of_additions_does_not_depend_on_the_digits(monkeypatch):
    """Zero digits cost what all digits cost, where each is an addition from Python."""
    source = random.Random(7)
    additions = []
    curve = select("pyblst")
    made = generators(curve)
    add = type(curve).g1_add

    def counted(self, a, b, /):
        additions.append(1)
        return add(self, a, b)

    counts = set()
    for digits in ([0] * 33, [3] * 33, [source.randrange(4) for _ in range(33)]):
        made.commit_digits(digits, 5)
        with monkeypatch.context() as patch:
            patch.setattr(type(curve), "g1_add", counted)
            additions.clear()
            made.commit_digits(digits, 5)
            counts.add(len(additions))
    assert len(counts) == 1
    assert counts.pop() >= 33


@pytest.mark.parametrize("size", [2, 3, 4, 7, 8, 64])
def test_the_polynomial_of_the_set_is_the_folded_one(size):
    """(5.3) against (5.2) on every member and at many challenges."""
    source = random.Random(8)
    relation = Relation.from_statement(statement(ISSUER.key, ("balance", "set_member", list(range(size)))))
    (members,) = relation.sets
    for value in members.scalars:
        y = source.randrange(ORDER)
        mask = source.randrange(ORDER)
        prover = SetProver(GENERATORS, members, value, mask, Dice(source.randbytes, b""))
        prover.first()
        coefficients = prover.second(y)
        for c in (0, 1, source.randrange(ORDER)):
            data = prover.proof(c)
            verifier = SetVerifier(GENERATORS, members, data, c, (value * c + mask) % ORDER)
            assert verifier.second(y) == coefficients


def test_coefficients_of_range_are_those_of_polynomial():
    """(4.13) against (4.12)."""
    relation = Relation.from_statement(statement(ISSUER.key, ("balance", "gte", 5), ("score", "lt", 230)))
    layout = relation.ranges
    source = random.Random(9)
    values = [goal.low + source.randrange(goal.high - goal.low + 1) for goal in layout.goals]
    masks = [source.randrange(ORDER) for _ in values]
    prover = RangeProver(GENERATORS, layout, values, masks, Dice(source.randbytes, b""))
    prover.first()
    y = source.randrange(ORDER)
    coefficients = prover.second(y)
    for c in (1, 2, source.randrange(ORDER)):
        m_hats = [(value * c + mask) % ORDER for value, mask in zip(values, masks, strict=True)]
        assert RangeVerifier(GENERATORS, layout, prover.proof(c), c, m_hats).second(y) == coefficients


def test_a_set_that_is_not_padded_is_refused_and_not_cut_off():
    with pytest.raises(ValueError, match="zip"):
        set_check_value([1, 2, 3], [5, 6], 7, 8, 9)
    with pytest.raises(ValueError, match="zip"):
        set_check_coefficients([1, 2, 3], [0, 1], [5, 6], 7, 8)
    with pytest.raises(ValueError, match="zip"):
        set_check_coefficients([1, 2, 3, 4], [0, 1], [5], 7, 8)


def test_lists_of_another_length_are_refused_and_not_cut_off():
    layout = Relation.from_statement(statement(ISSUER.key, ("score", "gte", 5), ("balance", "gte", 5))).ranges
    digits, ones = layout.digits, [1] * len(layout.digits)
    for wrong in (ones[1:], [*ones, 1]):
        with pytest.raises(ValueError, match="zip"):
            check_value(digits, wrong, 7, 9)
        with pytest.raises(ValueError, match="zip"):
            check_coefficients(digits, ones, wrong, 7)
        with pytest.raises(ValueError, match="zip"):
            check_coefficients(digits, wrong, wrong, 7)
    for message_responses in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="zip"):
            all_responses(layout, ones, message_responses, 9)
    one, other = (goal.low for goal in layout.goals)
    for values, masks in (([one], [1, 2]), ([one, other], [1]), ([one, other, 7], [1, 2, 3])):
        with pytest.raises(ValueError, match="zip"):
            RangeProver(GENERATORS, layout, values, masks, Dice(random.Random(10).randbytes, b""))
    vector = ProverVector(GENERATORS, [0], [1], 2, 3, [4, 5])
    for coefficients in ([1], [1, 2, 3]):
        with pytest.raises(ValueError, match="zip"):
            vector.second(coefficients)


def test_evaluate():
    assert evaluate([5, 0, 2], 3) == 23
