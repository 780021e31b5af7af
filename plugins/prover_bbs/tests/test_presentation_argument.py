"""PROTOCOL-2.md §9 as code: what is proved is what integers say, the extractor forks a prover, the simulator does without a witness."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from identity_bound_credentials.domain.normal_form import Slot
from identity_bound_credentials.domain.question import HolderForm
from identity_bound_credentials.domain.status_gaps import HandleListed
from identity_prover_bbs.suite2 import PresentationEnvelope, PresentationProver, prover, relation, verifier
from identity_prover_bbs.suite2.argument import VectorArgumentVerifier, inverse
from identity_prover_bbs.suite2.layout import Interval, Side, VectorLayout
from identity_prover_bbs.suite2.relation import PresentationRelation

from identity_bbs.bls12381 import ORDER
from identity_bbs.bls12381.hedged import HedgedScalars
from identity_bbs.bls12381.keys import secret_scalar
from identity_bbs.encoding import mixed_messages_to_scalars
from identity_codec.values import replace
from identity_core.domain.credentials.attributes import Attribute, AttributeType
from identity_core.domain.credentials.schema import Schema
from identity_core.errors import PredicateNotSatisfied, PredicateUnsupported
from tests.presenting import CURVE, DAY, PLAIN, Holder, Issuer, Scene, about, ask, seeded

IVO, HANA = Issuer(), Holder()
SCHEMA = Schema(
    "https://schemas.example/small/2",
    (
        Attribute("n", AttributeType.INTEGER),
        Attribute("t", AttributeType.STRING),
        Attribute("m", AttributeType.INTEGER),
    ),
)
HEADER = IVO.header(SCHEMA)
VALUES = {"n": 1984, "t": "tea", "m": -5}


def scene(*predicates, values=VALUES, particulars=None, **options):
    question = ask((HEADER, *predicates), **({"holder": PLAIN} | options))
    return Scene(question, (HANA.obtain(IVO, header=HEADER, values=values, particulars=particulars),))


def holds(asked) -> bool:
    """Whether it can be proved; a proof that is made is accepted."""
    try:
        text = asked.prove()
    except (PredicateNotSatisfied, HandleListed):
        return False
    assert asked.verdict(text) is True
    return True


INT = st.one_of(st.integers(-5, 5), st.integers(-(2**53) + 1, 2**53 - 1))


@settings(max_examples=12, deadline=None)
@given(INT, INT, INT, st.sampled_from(["tea", "rum", None]))
def test_a_verdict_is_the_comparison_of_integers(n, m, bound, text):
    asked = scene(
        ("n", "gte", bound),
        ("m", "lt", bound),
        ("t", "neq", "rum"),
        values={"n": n, "m": m, "t": text},
        either=((0, 1),),
    )
    assert holds(asked) is ((n >= bound or m < bound) and text == "tea")


@settings(max_examples=10, deadline=None)
@given(st.integers(-3, 3), st.integers(-3, 3))
def test_a_credential_is_valid_on_its_days(first, last):
    if first > last:
        return
    asked = scene(particulars=about(first=DAY + first, last=DAY + last))
    assert holds(asked) is (first <= 0 <= last)


@settings(max_examples=10, deadline=None)
@given(st.sets(st.integers(1, 9), max_size=4), st.integers(1, 9))
def test_a_handle_is_in_no_list_of_revoked_ones(revoked, handle):
    asked = scene(particulars=about(handle=handle), status=True)

    class Listed(Issuer):
        def gap(self, handle, *, epoch=None):
            return super().gap(handle, epoch=epoch, revoked=tuple(revoked))

    asked.issuers = (Listed(),)
    assert holds(asked) is (handle not in revoked)


def test_the_ends_of_handles():
    for handle in (1, (1 << 32) - 2):
        asked = scene(particulars=about(handle=handle), status=True)
        assert holds(asked)


def test_a_question_that_is_too_large():
    """Sixteen alternatives of 64 bits, and rows past the most."""
    wide = [("n", "gte", number) for number in range(16)]
    with pytest.raises(PredicateUnsupported) as refusal:
        scene(*wide, either=tuple((n, n + 1) for n in range(0, 16, 2))).prove()
    assert "elements" in refusal.value.details["reason"]
    many = [("t", "neq", f"text {number}") for number in range(16)]
    assert holds(scene(*many))


def test_four_full_credentials_fit():
    """Each valid, not revoked, with one 64-bit interval."""
    header = IVO.header(SCHEMA)
    held = tuple(HANA.obtain(IVO, header=header, values=VALUES, handle=3_000_000_000 + n) for n in range(4))
    asked = Scene(ask(*[(header, ("n", "gte", 5), ("n", "lt", "9223372036854775807"))] * 4, status=True), held)
    layout = PresentationRelation.from_statement(asked.statement).layout
    assert layout.elements > 300
    assert holds(asked)


def test_an_inverse_is_taken_of_a_masked_number():
    hedged = HedgedScalars(b"test", seeded(1), b"")
    for value in (1, -1, 5, ORDER - 1, 1 << 255):
        assert value * inverse(value, hedged) % ORDER == 1
    assert inverse(0, hedged) == inverse(ORDER, hedged) == 0


def test_numbers_of_a_form_keep_their_size():
    layout = VectorLayout.from_intervals([Interval(((1, Slot(0, 3)), (-1, Slot(1, 0))), 1, 1 << 32)], [])
    values = {Slot(0, 3): ORDER - 1, Slot(1, 0): ORDER - 7} | dict.fromkeys(range(16), ORDER - 3)
    assert 0 <= layout.gaps[0].evaluate(ORDER - 1, values) < ORDER
    points = VectorLayout.from_intervals([Interval(((1, Slot(0, 6)),), 5, 5, Side(0, place)) for place in (0, 1)], [])
    assert (points.elements, len(points.rows), points.sent) == (1, 2, (0,))


# The extractor.


def test_the_extractor_recovers_messages_secret_handle_and_gap(monkeypatch):
    """Two answers to one first message."""
    asked = scene(("n", "gte", 5), ("t", "neq", "rum"), status=True, pseudonym="shop")
    found = []
    for c in (12345, 999_999):
        monkeypatch.setattr(prover, "calculate_challenge", lambda *given, c=c: c)
        monkeypatch.setattr(prover, "first_challenge", lambda first: 77)
        found.append(PresentationEnvelope.decode(asked.prove()))
    made = PresentationRelation.from_statement(asked.statement)
    witness = asked.witness
    known = PresentationProver(CURVE, seeded(1))._read_messages(made, witness, asked.bound)
    over = pow(12345 - 999_999, -1, ORDER)
    for part, messages in enumerate(known):
        proofs = [(*each.credential_proofs, *each.gap_proofs)[part] for each in found]
        scalars = mixed_messages_to_scalars(messages)
        for place, slot in enumerate(made.owned(part)):
            first, second = (int.from_bytes(proof[240 + 32 * place :][:32], "big") for proof in proofs)
            assert (first - second) * over % ORDER == scalars[slot.slot]
    responses = [
        [int.from_bytes(each.argument[at : at + 32], "big") for at in range(192, len(each.argument), 32)]
        for each in found
    ]
    elements = [(a - b) * over % ORDER for a, b in zip(*responses, strict=True)]
    layout = made.layout
    for index, value in zip(layout.sent, elements, strict=False):
        if index < len(layout.digits):
            assert value < layout.digits[index].radix
    slot, scalar = layout.unequal[-1]
    assert (mixed_messages_to_scalars(known[slot.part])[slot.slot] - scalar) * elements[
        len(layout.sent) - 1
    ] % ORDER == 1


# The simulator.

SHAPES = {
    "target": ((("n", "gte", 5000),), {"status": True}),
    "alternatives": ((("n", "gte", 5000), ("m", "gte", 5000)), {"either": ((0, 1),)}),
    "neq": ((("t", "neq", "tea"),), {}),
    "equality and set": ((("n", "eq", 7), ("t", "set_member", ["a", "b", "c"])), {"validity": False}),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_simulator_needs_no_witness(name, monkeypatch):
    """A transcript of a false statement satisfies every equation once both challenges are programmed, and none without."""
    predicates, options = SHAPES[name]
    asked = scene(*predicates, **options)
    made = PresentationRelation.from_statement(asked.statement)
    source = random.Random(5)
    c, y = source.randrange(1, ORDER), source.randrange(1, ORDER)
    key = secret_scalar(IVO.secret)

    def point():
        return CURVE.g1_mul(CURVE.g1_generator(), source.randrange(1, ORDER))

    def scalars(count):
        return b"".join(source.randrange(1, ORDER).to_bytes(32, "big") for _ in range(count))

    encode = CURVE.g1_to_octets
    parts = []
    for part in range(len(made.parts)):
        a_bar = point()
        data = encode(a_bar) + encode(CURVE.g1_mul(a_bar, key)) + encode(point()) + scalars(3)
        for slot in made.owned(part):
            is_equal = slot in made.equal
            data += ((made.equal[slot] * c + 1) % ORDER).to_bytes(32, "big") if is_equal else scalars(1)
        parts.append(data + (c.to_bytes(32, "big") if part == 0 else b""))
    layout = made.layout
    argument = b"".join(encode(point()) for _ in range(4)) + scalars(len(layout.sent) + 2) if layout.byte_count else b""
    sets = tuple(b"".join(encode(point()) for _ in range(s.bits)) + scalars(s.bits + 2) for _, s in made.sets)
    count = len(asked.question.credentials)
    envelope = PresentationEnvelope(
        asked.question,
        asked.statement.day,
        tuple(part.epoch for part in asked.statement.status),
        asked.bound,
        made.shown,
        tuple(parts[:count]),
        tuple(parts[count:]),
        argument,
        sets,
    )
    text = envelope.encode()
    assert asked.verdict(text) == "the proof does not match"
    with monkeypatch.context() as patch:
        patch.setattr(verifier, "first_challenge", lambda first: y)
        patch.setattr(verifier.core, "check_challenge", lambda *given: None)
        assert asked.verdict(text) is True
    assert relation.HIGH_SLOT == 1


def test_responses_do_not_tell_witnesses_apart():
    """Chi-square of the lowest byte of all responses of two extreme witnesses."""
    counts = []
    for n in (5, 2**53 - 1):
        asked = scene(("n", "gte", 5), values=VALUES | {"n": n})
        made, witness = PresentationProver(CURVE, seeded(n)), asked.witness
        seen = [0] * 16
        for _ in range(12):
            envelope = PresentationEnvelope.decode(made.prove(asked.statement, witness, asked.bound))
            data = envelope.credential_proofs[0][144:] + envelope.argument[192:]
            for at in range(31, len(data), 32):
                seen[data[at] % 16] += 1
        counts.append(seen)
    total = sum(map(sum, counts)) / 32
    assert sum((value - total) ** 2 / total for seen in counts for value in seen) < 70, (
        "31 degrees of freedom: 1 in 10,000"
    )


def test_two_proofs_of_one_holder_have_nothing_in_common():
    first, second = (
        PresentationEnvelope.decode(replace(scene(("n", "gte", 5), holder=HolderForm.CONSENT), seed=seed).prove())
        for seed in (1, 2)
    )

    def pieces(envelope):
        data = b"".join((*envelope.credential_proofs, envelope.argument))
        return {data[at : at + 8] for at in range(len(data) - 7)}

    assert pieces(first).isdisjoint(pieces(second))


def test_a_verifiers_argument_takes_only_its_length():
    asked = scene(("n", "gte", 5))
    made = PresentationRelation.from_statement(asked.statement)
    generators = prover.presentation_generators(CURVE)
    with pytest.raises(Exception, match="proof"):
        VectorArgumentVerifier(generators, made.layout, bytes(made.layout.byte_count - 1), 5, {})
