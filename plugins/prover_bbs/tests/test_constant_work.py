"""What the prover does with a secret is as much work for one value as for another (PROTOCOL.md §9.8).

Work is counted in comparisons and in sizes of operands, because a clock on a busy machine tells neither. Figures are in
``tests/bench/bench_prover.py --timing``.
"""

from typing import ClassVar

import pytest
from identity_prover_bbs.committed_vector import ProverVector
from identity_prover_bbs.plan import decompose, plan
from identity_prover_bbs.set_argument import SetLayout, SetProver

from identity_core.crypto.bls12381 import ORDER


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
    with pytest.raises(ValueError, match="none of the set"):
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
