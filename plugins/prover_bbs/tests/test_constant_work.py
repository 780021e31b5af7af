"""The work of the prover is the same for each value of a secret (PROTOCOL.md §9.8).

Work is counted in comparisons and in sizes of operands, because a clock on a busy machine tells neither. Figures are in
``tools/bench/bench_prover.py --timing``.
"""

from typing import ClassVar

import pytest
from identity_prover_bbs import range_argument, set_argument
from identity_prover_bbs.committed_vector import ProverVector, VerifierVector
from identity_prover_bbs.generators import generators
from identity_prover_bbs.plan import decompose, plan
from identity_prover_bbs.range_argument import RangeLayout, RangeProver
from identity_prover_bbs.set_argument import SetLayout, SetProver

from identity_bbs.bls12381 import ORDER, select
from identity_core.domain.proofs.predicate import InRange


class Counted(int):
    """A number that notes each comparison, and the size of what it is multiplied by."""

    notes: ClassVar[list] = []

    def __eq__(self, other):
        Counted.notes.append("=")
        return int(self) == int(other)

    __hash__ = int.__hash__

    def __rmul__(self, other):
        Counted.notes.append(other.bit_length())
        return int(self) * other


class Repeating:
    """Dice that always fall alike."""

    def scalars(self, count):
        return [ORDER - 1 - number for number in range(count)]


@pytest.fixture(autouse=True)
def _forgotten():
    Counted.notes = []


def test_the_place_in_a_set_is_found_by_going_through_all_of_it():
    work = set()
    for place in (0, 1, 511, 1023):
        Counted.notes = []
        layout = SetLayout(0, tuple(map(Counted, range(7, 7 + 1024))))
        prover = SetProver(None, layout, 7 + place, 1, Repeating())
        assert sum(bit << level for level, bit in enumerate(prover._vector.digits)) == place
        work.add(Counted.notes.count("="))
    assert len(work) == 1
    assert work.pop() >= 1024


def test_a_value_outside_the_set_is_refused():
    with pytest.raises(ValueError, match="not in the set"):
        SetProver(None, SetLayout(0, (3, 5, 9)), 4, 1, Repeating())


def test_a_digit_of_zero_is_multiplied_like_any_other():
    c = Counted(ORDER - 5)
    sizes = []
    for digit in (0, 1, 2, 3):
        Counted.notes = []
        dice = Repeating().scalars(6)
        ProverVector(None, [digit] * 4, dice[:4], dice[4], dice[5], dice[:4]).responses(c, range(4))
        sizes.append(Counted.notes[:4])
    assert sizes == [[255] * 4] * 4


def test_derived_mask_is_uniform_scalar():
    """The weighted masks of a wide interval add up to far more than the group order."""
    goals = [InRange(0, 0, (1 << 64) - 2), InRange(1, 5, 200)]
    for message_mask in (0, 1, ORDER - 1):
        vector = RangeProver(None, RangeLayout.from_goals(goals), [7, 9], [message_mask] * 2, Repeating())._vector
        assert len(vector.masks) == len(vector.digits)
        assert all(0 <= mask < ORDER for mask in vector.masks)


def full_size(count):
    return [Counted(ORDER - 7 - number) for number in range(count)]


def sizes():
    return [note for note in Counted.notes if note != "="]


def test_numbers_of_a_set_argument_keep_their_size():
    """Sums of a few scalars have a few bits more; a product that is not reduced would have 255 more at every level."""
    c, y, scalars = ORDER - 5, Counted(ORDER - 3), [pow(7, 100 + place, ORDER) for place in range(32)]
    assert 0 <= set_argument.check_value(scalars, full_size(5), ORDER - 9, y, c) < ORDER
    assert max(sizes()) <= 256
    Counted.notes = []
    coefficients = set_argument.check_coefficients(scalars, [0, 1, 1, 0, 1], full_size(5), ORDER - 9, y)
    assert all(0 <= coefficient < ORDER for coefficient in coefficients)
    assert max(sizes()) <= 262


def test_numbers_of_a_range_argument_keep_their_size():
    c, y = ORDER - 5, Counted(ORDER - 3)
    layout = RangeLayout.from_goals([InRange(0, 7, 4_000), InRange(1, 5, 200)])
    count = len(layout.digits)
    assert 0 <= range_argument.check_value(layout.digits, full_size(count), y, c) < ORDER
    assert max(sizes()) <= 256
    Counted.notes = []
    coefficients = range_argument.check_coefficients(layout.digits, [1] * count, full_size(count), y)
    assert all(0 <= coefficient < ORDER for coefficient in coefficients)
    assert max(sizes()) <= 256
    derived = range_argument.all_responses(layout, [ORDER - 1] * len(layout.sent), [0, ORDER - 1], c)
    assert len(derived) == count
    assert all(0 <= response < ORDER for response in derived)


def test_powers_of_the_challenge_keep_their_size():
    made = generators(select())
    point = made.curve.g1_generator()
    vector = VerifierVector(made, bytes(48 * 5), point, (point,) * 4, (), 1, 2)
    assert len(vector.second(Counted(ORDER - 3), 5)) == 5
    assert len(sizes()) == 3
    assert max(sizes()) <= 255


@pytest.mark.parametrize("width", [1, 2, 3, 36_500, (1 << 64) - 2])
def test_digits_are_found_by_comparisons_of_one_size(width, monkeypatch):
    digits = plan(width)
    sizes = {}
    for value in {0, 1, width // 2, width}:
        seen = []

        class Noted(int):
            def __ge__(self, other, seen=seen):
                seen.append((int(self).bit_length(), other.bit_length()))
                return int(self) >= other

            def __add__(self, other):
                return type(self)(int(self) + other)

            __radd__ = __add__

            def __sub__(self, other):
                return type(self)(int(self) - other)

        monkeypatch.setattr("identity_prover_bbs.plan._OFFSET", Noted(1 << 65))
        assert sum(d.weight * n for d, n in zip(digits, decompose(digits, value), strict=True)) == value
        sizes[value] = seen
    assert len({len(seen) for seen in sizes.values()}) == 1
    assert {size for seen in sizes.values() for pair in seen for size in pair} == {66}
